// An operator takes a chat over, writes in the agent's place, and hands it back.
import { base, check, ready, run } from './browser.mjs'
import { fake, serve } from './fake.mjs'

await run(async (browser) => {
  const page = await (await browser.newContext()).newPage()
  const answer = fake(), asked = []
  await serve(page, (method, path, query, body) => {
    if (method === 'POST') asked.push([path, body])
    return answer(method, path, query, body)
  })
  await page.goto(base + '/#/session/ana/s00001')
  await ready(page)
  check(await page.locator('.composer').count() === 0, 'there is a composer in a chat that is the agent\'s')
  await page.getByRole('button', { name: 'Take over' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take over' }).click()
  await page.getByPlaceholder('Write in the place of ana').fill('A person here.')
  await page.keyboard.press('Enter')
  await page.locator('.toast', { hasText: 'Sent' }).waitFor()
  await page.getByRole('button', { name: 'Hand back to ana' }).click()
  await page.getByRole('button', { name: 'Take over' }).waitFor()
  check(await page.locator('.composer').count() === 0, 'the chat is the agent\'s again')
  check(JSON.stringify(asked.map(([path, b]) => [path, b.agent, b.text])) === JSON.stringify([
    ['sessions/takeover', 'ana', undefined], ['sessions/say', 'ana', 'A person here.'], ['sessions/handback', 'ana', undefined],
  ]), 'what was asked of the host: ' + JSON.stringify(asked))
})
