// The pictures of docs/images, of a fleet that is made up.
import { base, ready, run } from './browser.mjs'
import { fake, serve } from './fake.mjs'

const pictures = [
  ['console-now', 'now'], ['console-sessions', 'sessions'], ['console-session', 'session/ana/s00002', async (page) => {
    await page.evaluate(() => { document.querySelector('.virtual').scrollTop = 0 })
    await page.waitForTimeout(200)
  }],
  ['console-session-dark', 'session/ana/s00002', async (page) => {
    await page.evaluate(() => { document.querySelector('.virtual').scrollTop = 620 })
    await page.waitForTimeout(200)
    await page.locator('.k-tool .when').last().click()
  }, { colorScheme: 'dark', viewport: { width: 1160, height: 690 } }],
  ['console-why', 'why/tg-99840'], ['console-dead-letters', 'dead', (page) => page.getByRole('button', { name: 'Inspect' }).first().click()], ['console-cost', 'cost'],
  ['console-fleet', 'fleet', null, { colorScheme: 'dark' }], ['console-agents', 'agents'], ['console-tokens', 'tokens'],
  ['console-playground', 'playground', async (page) => {
    await page.locator('.variant textarea').nth(1).fill('Answer in one sentence.')
    await page.getByPlaceholder(/Say something/).fill('Where is my order?')
    await page.keyboard.press('Enter')
    await page.locator('.turn .facts').nth(1).waitFor()
  }],
  ['console-phone', 'now', null, { viewport: { width: 360, height: 640 } }],
]

await run(async (browser) => {
  for (const [name, path, prepare, options] of pictures) {
    const context = await browser.newContext({ viewport: { width: 1160, height: 740 }, ...options })
    const page = await context.newPage()
    await serve(page, fake())
    await page.goto(base + '/#/' + path)
    await ready(page)
    await page.waitForTimeout(300)
    await prepare?.(page)
    await page.waitForTimeout(200)
    await page.screenshot({ path: process.env.SHOTS + '/' + name + '.png', animations: 'disabled', caret: 'hide' })
    await context.close()
  }
})
