// Whatever a person, a model, a tool or a file says stays text, on every page.
import { check, open, pages, ready, run, show } from './browser.mjs'
import { fake, serve } from './fake.mjs'

const strings = [
  '<script>hit()</script>', '<img src=x onerror=hit()>', '<svg onload=hit()>', '"><script>hit()</script>', "'><img src=x onerror=hit()>",
  '<iframe srcdoc="<script>parent.hit()</script>"></iframe>', '<a href="javascript:hit()">x</a>', '[x](javascript:hit())', '[x](JaVaScRiPt:hit())',
  '[x](data:text/html,<script>hit()</script>)', '[x](vbscript:hit())', '[x]( javascript:hit() )', '<javascript:hit()>', '![x](x" onerror="hit())',
  '![x](javascript:hit())', '[<img src=x onerror=hit()>](https://a.test)', '**<img src=x onerror=hit()>**', '`<script>hit()</script>`',
  '```\n<script>hit()</script>\n```', '```"><img src=x onerror=hit()>\nx\n```', '> <script>hit()</script>', '- <img src=x onerror=hit()>',
  '1. <svg/onload=hit()>', '# <script>hit()</script>', '| a | b |\n|---|---|\n| <script>hit()</script> | <img src=x onerror=hit()> |', '<math><mi xlink:href="data:x,<script>hit()</script>">',
  '<style>*{display:none}</style>', '<link rel=stylesheet href=//evil.test/x.css>', '<meta http-equiv=refresh content="0;url=//evil.test">', '<base href=//evil.test>',
  '<form action=//evil.test><button>x</button></form>', '<object data=//evil.test></object>', '<details open ontoggle=hit()>', '<body onload=hit()>',
  '&lt;script&gt;hit()&lt;/script&gt;', '\u202e<script>hit()</script>', '${hit()} {{hit()}} #{hit()}', '__proto__[x](https://a.test/"onmouseover="hit())',
  'https://a.test/"onmouseover="hit()', '<template><img src=x onerror=hit()></template>', '](x)[a](javascript&colon;hit())', '<a href="jav&#x09;ascript:hit()">',
]

// wantText fails where a string has become more than text.
async function wantText(page, where) {
  const found = await page.evaluate(() => ({
    hits: window.hits,
    elements: [...document.querySelectorAll('main script, main img, main iframe, main style, main link, main meta, main object, main template, main details, main math, base, main form[action]')].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('main *')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).map((e) => e.outerHTML),
    links: [...document.querySelectorAll('main a')].map((a) => a.protocol).filter((p) => !['http:', 'https:', 'mailto:'].includes(p)),
  }))
  check(found.hits === 0 && !found.elements.length && !found.handlers.length && !found.links.length, where + ': ' + JSON.stringify(found))
}

// wantDetails opens what there is of each message of a session. Names of files stand in
// the timeline and in the panel.
async function wantDetails(page) {
  for (const kind of ['agent', 'user']) { // from below, where the list begins to show them
    const row = page.locator('.k-' + kind, { has: page.locator('.media') }).last()
    const names = await row.locator('.media li').allTextContents()
    check(names.length === strings.length, 'the files of ' + kind + ': ' + names.length)
    for (const s of strings) check(names.some((n) => n.startsWith(s)), 'it is the name of no file: ' + s)
    await row.locator('.when').click()
    await page.locator('.panel', { hasText: '"media"' }).waitFor()
    await wantText(page, 'the files of ' + kind)
    await page.getByRole('button', { name: 'Close' }).click()
  }
  for (const b of await page.locator('.when').all()) {
    await b.click({ timeout: 2000 }).catch(() => {}) // the list has moved on
    await wantText(page, 'details')
  }
}

await run(async (browser) => {
  check(strings.length >= 40, 'there are 40 strings')
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const first = await context.newPage()
  let at = 0
  // Every text of the fleet is one of the strings: names, titles, messages, arguments,
  // results, reasons, notes, prompts.
  await serve(first, fake({ text: () => strings[at++ % strings.length], sessions: 60 }))
  await first.close()
  for (let round = 0; round < 3; round++) {
    at = round * 17
    const page = await context.newPage()
    const faults = []
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) faults.push(m.text()) })
    await page.addInitScript(() => { window.hits = 0; window.hit = () => { window.hits++ } })
    await serve(page, fake({ text: () => strings[at++ % strings.length], sessions: 60, files: strings.length }))
    await page.goto((await import('./browser.mjs')).base + '/#/now')
    await ready(page)
    for (const path of [...pages, 'session/ana/s00002', 'sessions?q=' + encodeURIComponent(strings[round]), 'why/' + encodeURIComponent(strings[round + 3]), 'agents/' + encodeURIComponent(strings[round + 5])]) {
      await show(page, path)
      if (path.startsWith('session/')) await wantDetails(page)
      if (path === 'dead') for (const b of await page.getByRole('button', { name: 'Inspect' }).all()) await b.click()
      if (path === 'agents') for (const b of await page.locator('.tool-head').all()) await b.click()
      await wantText(page, path)
    }
    check(!faults.length, 'an empty console: ' + faults.join('\n'))
    await page.close()
  }
})
