// Without a token the page asks for one; the role read sees all and changes nothing.
import { base, check, expected, open, ready, run, show } from './browser.mjs'

expected.push(/status of 401/) // who is not logged in asks once, and is sent to the login

async function logIn(browser, token) {
  const page = await open(browser)
  await page.waitForURL(/\/login/)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  return page
}

await run(async (browser) => {
  const wrong = await logIn(browser, 'wrong')
  await wrong.getByText('This token is not known here').waitFor()
  await wrong.context().close()

  const order = { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer desk-secret-of-the-test' }, body: '{"agent":"ana","text":"refund","session":"asks"}' }
  const { session } = await (await fetch(base + '/api/agents/send', order)).json()
  const eye = await logIn(browser, 'eye-secret-of-the-test')
  await eye.waitForURL((u) => u.pathname === '/')
  await show(eye, 'session/ana/' + encodeURIComponent(session))
  await eye.locator('.ask').waitFor()
  await ready(eye)
  await show(eye, 'agents/ana')
  await eye.getByText('You answer customers.').waitFor()
  for (const path of ['session/ana/' + encodeURIComponent(session), 'now', 'fleet', 'dead', 'schedules', 'tokens', 'agents/ana']) {
    await show(eye, path)
    if (path.startsWith('session')) await eye.locator('.ask').waitFor()
    check(await eye.getByRole('button', { name: /Approve|Deny|Delete|Drain|Take out|Reload|Retry|Pause|Resume|Revoke|Make/ }).count() === 0, 'a reader has no buttons that change something: ' + path)
  }
  const status = await eye.evaluate(() => fetch('/api/agents/send', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"agent":"ana","text":"x"}' }).then((r) => r.status))
  check(status === 403, 'the host refuses a reader: ' + status)
  expected.push(/status of 403/)
  await eye.getByRole('button', { name: 'Log out' }).click()
  await eye.waitForURL(/\/login/)
  await eye.context().close()

  // Who may only talk comes to the chat, and who names no page to that of their role.
  for (const [token, home] of [['eye-secret-of-the-test', '/'], ['shop-secret-of-the-test', '/chat']]) {
    const page = await (await browser.newContext()).newPage()
    await page.goto(base + '/login')
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL((u) => u.pathname === home)
    await page.context().close()
  }

  // Who may only talk and comes to the console learns how to get in.
  const shop = await logIn(browser, 'shop-secret-of-the-test')
  await shop.goto(base + '/#/sessions')
  await shop.getByRole('heading', { name: 'Not for you' }).waitFor()
  check(await shop.getByRole('navigation').count() === 0, 'no page is offered that is refused')
  await shop.getByRole('button', { name: 'Log out' }).click()
  await shop.waitForURL(/\/login/)
  await shop.context().close()

  // Who is for some agents has no button for what concerns all.
  const one = await logIn(browser, 'one-secret-of-the-test')
  await one.waitForURL((u) => u.pathname === '/')
  await ready(one)
  for (const path of ['now', 'fleet', 'agents/ana', 'tokens']) {
    await show(one, path)
    check(await one.getByRole('button', { name: /Drain|Take out|Reload|Pause (?!ana)|Resume|Revoke|Make/ }).count() === 0, 'a token for some agents has no buttons for all: ' + path)
  }
  await show(one, 'agents/ana')
  await one.getByRole('button', { name: 'Pause ana' }).click()
  await one.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await one.getByRole('button', { name: 'Let ana go on' }).click()
  await one.getByRole('button', { name: 'Pause ana' }).waitFor()
  await show(one, 'session/ana/' + encodeURIComponent(session))
  await one.getByRole('button', { name: 'Approve' }).waitFor()
  await one.context().close()

  const desk = await logIn(browser, 'desk-secret-of-the-test')
  await desk.waitForURL((u) => u.pathname === '/')
  await ready(desk)
  await desk.locator('.me', { hasText: 'desk' }).waitFor()
})
