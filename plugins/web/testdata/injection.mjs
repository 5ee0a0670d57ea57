// Whatever a person, a model, a tool or a file says stays text.
import { check, heard, open, run, say } from './browser.mjs'

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

// sayInTime waits for what the host takes of one person: 20 messages at once, and one a second.
let left = 18
let at = performance.now()
async function sayInTime(page, text) {
  const now = performance.now()
  left = Math.min(18, left + (now - at) / 1000) - 1
  at = now
  if (left < 0) await page.waitForTimeout(-left * 1000)
  await say(page, text)
}

await run(async (browser) => {
  const page = await open(browser)
  await page.evaluate(() => { window.hits = 0; window.hit = () => { window.hits++ } })
  check(strings.length >= 40, 'there are 40 strings')
  for (const [i, text] of strings.entries()) {
    await page.waitForFunction(() => document.getElementById('stop').hidden)
    await sayInTime(page, (i % 3 === 2 ? 'evil tool ' : '') + text)
    await page.waitForFunction((n) => document.querySelectorAll('.line.agent:not(.live)').length === n, i + 1)
  }
  // In names of files, too.
  const names = strings.slice(0, 5).map((name) => ({ name, mimeType: 'text/html', buffer: Buffer.from('<script>hit()</script>') }))
  await page.setInputFiles('#files', names)
  await sayInTime(page, 'files')
  await heard(page, 'files')
  const look = () => page.evaluate((tags) => ({
    hits: window.hits ?? 0,
    elements: [...document.querySelectorAll(tags)].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('.line *')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on') || a.name === 'style')).map((e) => e.outerHTML),
    links: [...document.querySelectorAll('.line a')].map((a) => a.protocol).filter((p) => !['http:', 'https:', 'mailto:'].includes(p)),
  }), '.line script, .line img, .line svg, .line iframe, .line style, .line link, .line meta, .line form, .line object, .line template, .line details, .line math, #list img, #list script, h1 *, base')
  for (const when of ['as it came', 'after a reload']) {
    const found = await look()
    check(found.hits === 0 && !found.elements.length && !found.handlers.length && !found.links.length, when + ': ' + JSON.stringify(found))
    for (const text of strings.filter((t) => /^[<"']/.test(t))) {
      check(await page.locator('.line.mine .text', { hasText: text }).count() > 0, when + ', the text is shown as it is: ' + text)
    }
    if (when === 'as it came') {
      await page.reload()
      await page.waitForFunction((n) => document.querySelectorAll('.line').length >= n, 2 * strings.length + 2)
    }
  }
  for (const text of strings.slice(0, 4)) { // as the title of a conversation
    await page.getByRole('button', { name: 'New conversation' }).first().click()
    await page.waitForTimeout(1200)
    await sayInTime(page, text)
    await heard(page, '')
  }
  check((await look()).elements.length === 0, 'titles stay text')
})
