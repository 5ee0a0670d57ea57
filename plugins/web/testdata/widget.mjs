// The page in a frame of another site, with a token of that site.
import http from 'node:http'
import { base, check, expected, open, run, shot } from './browser.mjs'

const port = Number(process.argv[3])
const html = `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><h1>A shop</h1>
<script src="${base}/chat/widget.js" data-token="shop-secret" data-label="Ask us" defer></script>`
const site = http.createServer((_, res) => { res.setHeader('Content-Type', 'text/html'); res.end(html) })
await new Promise((done) => site.listen(port, done))

await run(async (browser) => {
  const visit = async (address) => {
    const page = await open(browser, {}, address)
    // the host takes its time: what is written before the conversation is there is not lost
    await page.route('**/chat/api/conversations*', async (route) => {
      await new Promise((done) => setTimeout(done, 500))
      await route.continue()
    })
    await page.getByRole('button', { name: 'Ask us' }).click()
    return [page, page.frameLocator('iframe')]
  }
  const [page, frame] = await visit(`http://localhost:${port}/`)
  await frame.locator('#text').fill('Is the lamp there?')
  await frame.locator('#text').press('Enter')
  await frame.locator('.line.agent:not(.live)', { hasText: 'Is the lamp there?' }).waitFor()
  await shot(page, 'widget')
  await page.reload()
  await page.getByRole('button', { name: 'Ask us' }).click()
  await page.frameLocator('iframe').locator('.line.mine', { hasText: 'Is the lamp there?' }).waitFor()

  const [, other] = await visit(`http://localhost:${port}/`)
  await other.locator('#text').waitFor()
  await other.locator('#log:empty').waitFor({ state: 'attached' })
  check(await other.locator('.line').count() === 0, 'another visitor has a conversation of their own')

  // A site that is not in the list shows nothing.
  expected.push(/frame-ancestors|Refused to frame|ERR_BLOCKED_BY_RESPONSE|Framing/)
  const [stranger] = await visit(`http://127.0.0.1:${port}/`)
  await stranger.waitForTimeout(1500)
  check(!await stranger.frameLocator('iframe').locator('#text').count(), 'another site does not show the page')
})
site.close()
