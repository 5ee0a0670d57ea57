import { audit, base, check, expected, heard, open, run, say, shot } from './browser.mjs'

await run(async (browser) => {
  expected.push(/401/) // the browser says it of the request that leads to the login
  const page = await open(browser)
  await page.waitForURL('**/login?to=%2Fchat')
  await audit(page, 'login')
  await shot(page, 'login')
  await page.fill('#token', 'wrong')
  await page.press('#token', 'Enter')
  await page.getByRole('alert').waitFor()
  await audit(page, 'login, refused')
  await page.fill('#token', 'ana-secret')
  await page.press('#token', 'Enter')
  await page.waitForURL((u) => u.pathname === '/chat')
  await page.locator('#about', { hasText: 'deliveries' }).waitFor()
  check(await page.locator('#agent option').count() === 1, 'the token is good for one agent')
  await say(page, 'Hello')
  await heard(page, 'Hello')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await say(page, 'x'.repeat(80))
  await heard(page, 'xxx')
  const beyond = await page.evaluate(() => document.querySelector('#list button').getBoundingClientRect().right - document.getElementById('new').getBoundingClientRect().right)
  check(beyond < 1, 'a long title ends within its list: ' + beyond)
  check(await page.evaluate(() => document.cookie) === '', 'no script reads the login')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.waitForURL('**/login')
  await page.goto(base + '/chat#bob/abcdefgh12') // the login leads back to the conversation
  await page.waitForURL('**/login?to=%2Fchat%23bob%2Fabcdefgh12')

  // Who may only read is not asked to write.
  await page.fill('#token', 'eye-secret')
  await page.press('#token', 'Enter')
  await page.waitForURL((u) => u.pathname === '/chat' && u.hash === '#bob/abcdefgh12')
  await page.locator('#composer').waitFor({ state: 'hidden' })
  const empty = await page.locator('#log').evaluate((e) => getComputedStyle(e, '::after').content)
  check(empty.includes('may only read'), 'it is said why: ' + empty)
})
