// What is long, much or strange is shown whole, and as what it is.
import { base, check, ready, run, show } from './browser.mjs'
import { fake, serve } from './fake.mjs'

const long = 'an option that goes on and on and on, so that there is no room for it on one line of a card or of a phone'
const newest = 'the newest of them all'
const letters = Array.from({ length: 2500 }, (_, i) => ({ dead_seq: i + 1, agent: 'ana', at: new Date(Date.now() - (2500 - i) * 1000).toISOString(), reason: i === 2499 ? newest : 'old', code: 'validation' }))

const plain = fake({ sessions: 20 })
const special = {
  'GET approvals': () => ({ waiting: [{ id: 'ana.s00002.w', agent: 'ana', session: 'web/dm/tom', kind: 'question', tool: 'ask_human', prompt: 'Which one?', options: ['yes', long, 'x'.repeat(200)], asked_at: new Date().toISOString() }] }),
  'GET pairings': () => ({ pairings: [{ code: 'ABCD2345', agent: 'ana', channel: 'telegram', from: '4711', name: 'the boss\u202e', asked_at: new Date().toISOString() }] }),
  'GET dead': (q) => {
    const page = letters.filter((l) => l.dead_seq > +(q.get('after') ?? 0)).slice(0, +q.get('limit'))
    return { letters: page, after: page.at(-1)?.dead_seq < 2500 ? page.at(-1).dead_seq : 0 }
  },
  'GET channels': () => ({ channels: [] }),
  'GET agents': () => ({ agents: ['ana', 'bob'].map((id) => ({ id, profile: { channels: ['web'] } })) }),
  'GET sessions': () => ({ sessions: [{ agent: 'ana', sid: 's00001', key: 'web/dm/tom', at: new Date().toISOString(), seq: 7, title: 'Hello', messages: 2, state: 'operator', for: ['operator'] }] }),
  'GET schedules': () => ({ schedules: [{ agent: 'ana', name: 'eve', source: 'config', spec: { at: '2027-12-24 18:00', timezone: 'Europe/Paris' }, prompt: 'Wish a merry Christmas.', next: '2027-12-24T17:00:00Z' }] }),
}

await run(async (browser) => {
  for (const width of [1280, 360]) {
    const page = await (await browser.newContext({ viewport: { width, height: 760 } })).newPage()
    await serve(page, (method, path, q, body) => special[method + ' ' + path]?.(q, body) ?? plain(method, path, q, body))
    await page.goto(base + '/#/now')
    await ready(page)
    await page.getByRole('button', { name: long }).waitFor()
    const cut = await page.evaluate(() => [...document.querySelectorAll('.waiting')].flatMap((card) => [...card.querySelectorAll('button')].filter((b) => b.getBoundingClientRect().right > card.getBoundingClientRect().right).map((b) => b.textContent)))
    check(!cut.length, `answers end within their card, ${width} px: ${cut}`)

    // Who asks to be let in is shown by their id, too, and turns no text around.
    const stranger = page.locator('.waiting', { hasText: 'ABCD2345' })
    check(/the boss.* \(4711\) asks to be let in/.test(await stranger.innerText()), 'a stranger has a name and an id: ' + await stranger.innerText())
    const order = await stranger.locator('.plain').evaluate((p) => {
      const at = (text) => {
        const walk = document.createTreeWalker(p, NodeFilter.SHOW_TEXT), range = document.createRange()
        for (let n = walk.nextNode(); n; n = walk.nextNode()) {
          const i = n.data.indexOf(text)
          if (i >= 0) { range.setStart(n, i); range.setEnd(n, i + text.length); return range.getBoundingClientRect() }
        }
      }
      const [a, b] = [at('asks'), at('to be')]
      return a.top < b.top || a.left < b.left
    })
    check(order, 'the words behind a name that turns text around stand in their order')

    await page.locator('.tile', { hasText: '2,500' }).waitFor()
    await page.locator('.alarm', { hasText: newest }).waitFor()
    await show(page, 'dead')
    await page.getByText(newest).waitFor()
    check(await page.locator('.letter').count() < 200, 'a list of dead letters holds those that are seen')

    await show(page, 'fleet')
    await page.locator('tr', { hasText: 'the chat page' }).getByText('ana, bob').waitFor()
    await show(page, 'sessions')
    await page.locator('.session', { hasText: 'taken over by operator' }).waitFor()
    await show(page, 'schedules')
    await page.getByText('2027-12-24 18:00 Europe/Paris').waitFor()
    await page.context().close()
  }
})
