// Every page, empty and with something in it, dark and light, wide and narrow.
import { audit, check, open, pages, ready, run, send, show, shot, until, wide } from './browser.mjs'

const inside = (page) => page.evaluate(() => {
  const m = document.querySelector('main')
  return m.scrollWidth - m.clientWidth
})

await run(async (browser) => {
  await send('hello', 'first')
  await send('I want a refund', 'second')
  await until('approvals', (a) => a.waiting.length === 1)
  const one = (await until('sessions', (a) => a.sessions.length === 2 && a.sessions)).find((s) => s.key.endsWith('second'))
  const all = [...pages, 'session/ana/' + one.sid, 'session/ana/' + one.sid + '/beside/' + one.sid, 'agents/bob', 'sessions?q=refund', 'why/' + encodeURIComponent('nothing'), 'nowhere']
  for (const [scheme, width] of [['light', 1280], ['dark', 1280], ['light', 360], ['dark', 360]]) {
    const page = await open(browser, { viewport: { width, height: 760 }, colorScheme: scheme })
    for (const path of all) {
      if (path === 'why/nothing') continue // a 404 is an error for the browser
      await show(page, path)
      const where = `${path}, ${scheme}, ${width} px`
      check(await wide(page) <= 0 && await inside(page) <= 0, 'nothing to scroll sideways: ' + where)
      if (width === 1280 || scheme === 'light') await audit(page, where)
    }
    if (width === 360) {
      await show(page, 'now')
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.getByRole('link', { name: 'Fleet' }).click()
      await page.getByRole('heading', { name: 'Fleet', level: 1 }).waitFor()
      await shot(page, 'narrow-' + scheme)
    }
    await page.context().close()
  }

  // With the keyboard alone.
  const page = await open(browser)
  await ready(page)
  await page.keyboard.press('Tab')
  check(await page.evaluate(() => document.activeElement.textContent) === 'To the page', 'the first stop leads to the page')
  await page.keyboard.press('Enter')
  check(await page.evaluate(() => document.activeElement.id) === 'main', 'the page has the focus')
  await page.keyboard.press('/')
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
  await page.waitForFunction(() => document.activeElement.type === 'search')
  await page.keyboard.type('refund')
  await page.keyboard.press('Enter')
  await page.locator('.hit').first().waitFor()
  await page.locator('.hit').first().focus()
  await page.keyboard.press('Enter')
  await page.locator('.item').first().waitFor()
  await page.locator('.when').first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('complementary', { name: /.+/ }).last().waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.panel').waitFor({ state: 'detached' })
  check(await page.evaluate(() => document.activeElement.className) === 'when', 'the focus is back where it was')
})
