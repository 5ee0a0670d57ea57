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
    await serve(page, fake({ text: () => strings[at++ % strings.length], sessions: 60 }))
    await page.goto((await import('./browser.mjs')).base + '/#/now')
    await ready(page)
    for (const path of [...pages, 'session/ana/s00002', 'sessions?q=' + encodeURIComponent(strings[round]), 'why/' + encodeURIComponent(strings[round + 3]), 'agents/' + encodeURIComponent(strings[round + 5])]) {
      await show(page, path)
      if (path.startsWith('session/')) for (const b of await page.locator('.when').all()) await b.click({ timeout: 2000 }).catch(() => {})
      if (path === 'dead') for (const b of await page.getByRole('button', { name: 'Inspect' }).all()) await b.click()
      if (path === 'agents') for (const b of await page.locator('.tool-head').all()) await b.click()
      const found = await page.evaluate(() => ({
        hits: window.hits,
        elements: [...document.querySelectorAll('main script, main img, main iframe, main style, main link, main meta, main object, main template, main details, main math, base, main form[action]')].map((e) => e.outerHTML),
        handlers: [...document.querySelectorAll('main *')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).map((e) => e.outerHTML),
        links: [...document.querySelectorAll('main a')].map((a) => a.protocol).filter((p) => !['http:', 'https:', 'mailto:'].includes(p)),
      }))
      check(found.hits === 0 && !found.elements.length && !found.handlers.length && !found.links.length, path + ': ' + JSON.stringify(found))
    }
    check(!faults.length, 'an empty console: ' + faults.join('\n'))
    await page.close()
  }
})
