// A browser for the tests of the console.
import { base, open as openAt } from '../../../plugins/web/testdata/browser.mjs'
export { audit, base, check, expected, run, shot, wide } from '../../../plugins/web/testdata/browser.mjs'

export const pages = ['now', 'sessions', 'why', 'dead', 'schedules', 'cost', 'fleet', 'agents', 'playground', 'tokens', 'audit']

export const open = (browser, options, path = 'now') => openAt(browser, options, base + '/#/' + path)

// show goes to a page within the console, and waits until nothing is loading.
export async function show(page, path) {
  await page.evaluate((p) => { location.hash = '#/' + p }, path)
  await ready(page)
}

export async function ready(page) {
  await page.locator('main h1').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('main .wait'))
}

// call asks the API as a program does.
export async function call(method, path, body) {
  const response = await fetch(base + '/api/' + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) })
  const answer = await response.json()
  if (!response.ok) throw new Error(path + ': ' + JSON.stringify(answer))
  return answer
}

export const send = (text, session, agent = 'ana') => call('POST', 'agents/send', { agent, text, session })

// until waits for what an answer of the API has to show.
export async function until(path, holds) {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    const answer = await call('GET', path)
    const found = holds(answer)
    if (found) return found
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('not within a minute: ' + path)
}
