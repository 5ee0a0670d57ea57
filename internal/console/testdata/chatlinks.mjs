// The links to the chat page: below the pages, and where no session is there yet.
import { check, open, ready, run, show } from './browser.mjs'

await run(async (browser) => {
  const page = await open(browser)
  await ready(page)
  await show(page, 'sessions')
  await page.getByText('No sessions yet').waitFor()
  const links = await page.locator('a[href="/chat"]').count()
  check(links === Number(process.argv[3]), `${links} links to the chat page, want ${process.argv[3]}`)
})
