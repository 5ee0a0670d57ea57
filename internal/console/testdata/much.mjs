// 10,000 sessions and a session of 5,000 events in the streams of the host: the first of
// them are seen within a second, and nothing keeps the page busy for longer than 200 ms.
import { base, check, run } from './browser.mjs'

const [oldest, long] = process.argv.slice(3) // sids: of the session at the end of the list, and of the one with many events

const most = 200 // milliseconds of a task

// measured is what the best of some tries shows: other programs may want the machine, too.
async function measured(browser, path, rows) {
  for (let tries = 1; ; tries++) {
    const noise = await idle(browser)
    const { page, figures } = await measure(browser, path, rows)
    figures.noise = noise
    console.log(JSON.stringify(figures))
    const good = figures.paint > 0 && figures.paint < 1000 + 5 * noise && figures.longest <= most + noise && figures.scrolling <= most + noise
    if (good || tries === 5) {
      check(good, 'first paint within a second, no task over 200 ms: ' + JSON.stringify(figures))
      check(figures.nodes < 4000, 'the page does not hold all of it')
      return page
    }
    await page.context().close()
  }
}

// idle is how long an empty page is kept waiting for a frame: what the machine itself
// takes at this moment.
async function idle(browser) {
  const page = await (await browser.newContext()).newPage()
  const longest = await page.evaluate(async () => {
    let most = 0, last = performance.now()
    for (let i = 0; i < 60; i++) {
      await new Promise(requestAnimationFrame)
      for (const end = performance.now() + 4; performance.now() < end;); // as a page that does something
      most = Math.max(most, performance.now() - last)
      last = performance.now()
    }
    return Math.max(0, Math.round(most - 17))
  })
  await page.context().close()
  return longest
}

async function measure(browser, path, rows) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  await page.addInitScript(() => {
    window.tasks = []
    new PerformanceObserver((l) => { for (const t of l.getEntries()) window.tasks.push(Math.round(t.duration)) }).observe({ type: 'longtask', buffered: true })
  })
  await page.goto(base + '/#/' + path)
  await page.locator(rows).first().waitFor()
  const first = await page.evaluate(() => Math.round(performance.now()))
  const paint = await page.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1))
  await page.waitForTimeout(1500) // what is loaded behind it
  const loaded = await page.evaluate(() => window.tasks.splice(0))
  // Up and down through all of it, as fast as a wheel goes.
  const moves = await page.evaluate(async () => {
    const box = document.querySelector('.virtual')
    const gaps = []
    let last = performance.now()
    for (const step of [1500, -900, 40_000, -3000, 120, 250_000, -60_000, 700, -700, 300, 300, 300, 300, 300]) {
      box.scrollTop += step
      for (let i = 0; i < 4; i++) {
        await new Promise(requestAnimationFrame)
        gaps.push(Math.round(performance.now() - last))
        last = performance.now()
      }
      if (box.scrollTop > 0 && !box.querySelector('.virtual-row')) throw new Error('nothing is shown at ' + box.scrollTop)
    }
    return gaps
  })
  await page.waitForTimeout(300)
  const scrolled = await page.evaluate(() => window.tasks.splice(0))
  const nodes = await page.evaluate(() => document.querySelectorAll('.virtual *').length)
  const figures = { path, paint, first, longest: Math.max(0, ...loaded), scrolling: Math.max(0, ...scrolled), frame: Math.max(...moves), nodes }
  return { page, figures }
}

await run(async (browser) => {
  const sessions = await measured(browser, 'sessions', '.session')
  // A row that has the focus and is scrolled away leaves it to the list.
  const row = sessions.locator('.session').first()
  await row.focus()
  const there = await row.getAttribute('href')
  await sessions.keyboard.press('End')
  await sessions.waitForFunction((href) => !document.querySelector('.session[href="' + href + '"]'), there)
  const on = await sessions.evaluate(() => document.activeElement.className)
  check(on.startsWith('virtual'), 'the list has the focus, and not ' + (on || 'the page'))
  // The last one can be reached.
  for (let i = 0; i < 2000 && await sessions.locator('.hint', { hasText: '10,000 sessions' }).or(sessions.locator('.hint', { hasText: '10.0k sessions' })).count() === 0; i++) {
    await sessions.evaluate(() => { const box = document.querySelector('.virtual'); box.scrollTop = box.scrollHeight })
    await sessions.waitForTimeout(30)
  }
  await sessions.evaluate(() => { const box = document.querySelector('.virtual'); box.scrollTop = box.scrollHeight })
  await sessions.locator('.session[href$="' + oldest + '"]').waitFor()
  await sessions.context().close()
  await measured(browser, 'session/ana/' + long, '.item')
})
