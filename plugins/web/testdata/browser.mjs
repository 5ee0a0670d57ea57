// A browser for the tests: every error on its console is a failure.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const require = createRequire(path.join(process.env.MODULES, 'x.js'))
const { chromium } = require('playwright-core')
const axe = readFileSync(path.join(process.env.MODULES, 'axe-core', 'axe.min.js'), 'utf8')

export const base = process.argv[2]
const faults = []
export const expected = [] // patterns of errors that are meant

export async function run(test) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
  let failed = ''
  try {
    await test(browser)
  } catch (e) {
    failed = e.stack
    for (const [i, page] of browser.contexts().flatMap((c) => c.pages()).entries()) {
      for (const f of page.frames().slice(1)) console.log('frame: ' + f.url() + ' ' + (await f.locator('body').innerText().catch(() => '?')).slice(0, 500))
      console.log(`page ${i}: ` + (await page.locator('body').innerText().catch(() => '?')).slice(0, 1500))
      if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `failed-${i}.png`) }).catch(() => {})
    }
  }
  await browser.close()
  const bad = faults.filter((f) => !expected.some((p) => p.test(f)))
  if (bad.length) failed += '\nthe console is not empty:\n' + bad.join('\n')
  if (failed) { console.error(failed); process.exit(1) }
}

export async function open(browser, options = {}, address = base + '/chat') {
  const context = options.newPage ? options : await browser.newContext({ viewport: { width: 1100, height: 760 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) faults.push(m.type() + ': ' + m.text() + ' ' + (m.location().url ?? '')) })
  page.on('pageerror', (e) => faults.push('exception: ' + e.stack))
  page.on('dialog', (d) => { faults.push('dialog: ' + d.message()); d.dismiss() })
  await page.goto(address)
  return page
}

export async function say(page, text) {
  await page.fill('#text', text)
  await page.press('#text', 'Enter')
}

// heard waits for a finished line of an agent with this text.
export const heard = (page, text) => page.locator('.line.agent:not(.live)', { hasText: text }).last().waitFor()

export function check(holds, what) {
  if (!holds) throw new Error('not so: ' + what)
}

export async function audit(page, where) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const bad = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
  check(!bad.length, where + ': ' + JSON.stringify(bad.map((v) => [v.id, v.nodes.map((n) => n.html + ' ' + n.failureSummary)]), null, 1))
  console.log(where + ': axe finds ' + found.violations.length + ' lesser things: ' + found.violations.map((v) => v.id))
}

export async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, name + '.png') })
}

export const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
