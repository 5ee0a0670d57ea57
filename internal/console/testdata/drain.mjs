// What is not known yet is no number; a host is drained, and only after a question.
import { call, check, open, ready, run, show, until } from './browser.mjs'

await run(async (browser) => {
  const context = await browser.newContext()
  let answer
  const held = new Promise((done) => { answer = done })
  await context.route(/\/api\/(status|runs|approvals|pairings|dead)/, async (route) => { await held; await route.continue() })
  const page = await open(browser, context)
  await page.locator('.tile').nth(4).waitFor()
  const numbers = () => page.locator('.tile b').allTextContents()
  check((await numbers()).every((n) => n === '–'), 'nothing is known yet: ' + await numbers())
  answer()
  await page.locator('.tile', { hasText: '2 / 2' }).waitFor()
  await ready(page)
  check((await numbers()).every((n) => n !== '–'), 'all is known: ' + await numbers())

  await show(page, 'fleet')
  await page.getByRole('button', { name: 'Drain green' }).click()
  await page.getByRole('dialog').getByText('The other hosts go on').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  check((await call('GET', 'fleet')).hosts.length === 2, 'both are there')
  await page.getByRole('button', { name: 'Drain green' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click()
  await until('fleet', (a) => a.hosts.length === 1)
  await page.getByRole('button', { name: 'Drain green' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Drain blue' }).click()
  await page.getByRole('dialog').getByText('It is the only host').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await show(page, 'audit')
  await page.locator('tr', { hasText: 'drain' }).filter({ hasText: 'green' }).waitFor()
})
