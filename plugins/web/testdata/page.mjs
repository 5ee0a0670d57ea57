import { audit, check, expected, heard, open, run, say, shot, wide } from './browser.mjs'

await run(async (browser) => {
  const page = await open(browser)
  await page.locator('#agent').waitFor()
  await audit(page, 'empty')
  await shot(page, 'empty')

  // The text grows, and is not replaced: its first paragraph stays the same element.
  await say(page, 'Tell me a slow story.')
  const live = page.locator('.line.live .text')
  await live.locator('p', { hasText: 'small host' }).waitFor()
  await page.evaluate(() => { window.first = document.querySelector('.line.live .text p') })
  const before = (await live.innerText()).length
  await page.waitForFunction((n) => document.querySelector('.line.live .text')?.innerText.length > n, before)

  // A reload finds the answer still growing, and what was asked.
  await page.reload()
  await page.locator('.line.mine', { hasText: 'slow story' }).waitFor()
  await live.locator('p', { hasText: 'small host' }).waitFor()
  check(!await page.locator('.line.agent:not(.live)', { hasText: 'The end.' }).count(), 'it still grows after the reload')
  await page.evaluate(() => { window.first = document.querySelector('.line.live .text p') })
  await heard(page, 'The end.')
  check(await page.evaluate(() => window.first === document.querySelector('.line.agent .text p')), 'the first paragraph stays as the text grows')
  check(await page.locator('.line.agent').count() === 1, 'one answer')
  await page.locator('#state').waitFor({ state: 'hidden' })
  check((await page.locator('#said').textContent()).includes('The end.'), 'a screen reader hears the whole answer')

  // Approve by a button, with the whole of what is to run; the other tab follows.
  const tab = await open(browser, page.context(), page.url())
  await tab.locator('.line.mine', { hasText: 'slow story' }).waitFor()
  await say(page, 'I want a refund.')
  await page.locator('.whole', { hasText: 'the customer sent a photo' }).waitFor()
  await tab.locator('.choices button', { hasText: 'Deny' }).waitFor()
  check((await page.locator('#doing').innerText()).includes('Waiting for your answer'), 'it is said who has to act')
  await shot(page, 'approval')
  await audit(page, 'approval')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await heard(page, 'A-1042 is refunded')
  await heard(tab, 'A-1042 is refunded')
  await page.locator('.answered', { hasText: 'Approved' }).waitFor()
  await tab.locator('.answered', { hasText: 'Approved' }).waitFor()
  await page.reload()
  await page.locator('.answered', { hasText: 'Approved' }).waitFor()
  await tab.close()

  // A question.
  await say(page, 'Ask me for a colour.')
  await page.getByRole('button', { name: 'Blue' }).click()
  await heard(page, 'You like Blue')

  // Attach by the button and by a drop; remove one.
  await page.setInputFiles('#files', [{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }, { name: 'wrong.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }])
  await page.getByRole('button', { name: 'Remove wrong.txt' }).click()
  const data = await page.evaluateHandle(() => { const d = new DataTransfer(); d.items.add(new File(['abc'], 'dropped.txt', { type: 'text/plain' })); return d })
  await page.dispatchEvent('#main', 'dragenter', { dataTransfer: data })
  await page.dispatchEvent('#main', 'drop', { dataTransfer: data })
  await page.locator('#chips', { hasText: 'dropped.txt' }).waitFor()
  await say(page, 'Here are two files')
  await heard(page, 'Here are two files')
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('.line.mine .file', { hasText: 'notes.txt' }).click()])
  check(download.suggestedFilename() === 'notes.txt', 'the file has its name')
  await say(page, 'Show me a picture')
  await heard(page, 'Here it is.')
  await page.waitForFunction(() => document.querySelector('.picture img')?.naturalWidth === 1)

  // Stop.
  await say(page, 'endless')
  await live.waitFor()
  const written = await page.locator('.line.live').getAttribute('data-id')
  await page.getByRole('button', { name: 'Stop the answer' }).click()
  await page.locator('#stop').waitFor({ state: 'hidden' })
  await live.waitFor({ state: 'detached' })
  const order = await page.locator('.line').evaluateAll((lines) => lines.map((l) => l.classList.contains('stopped') ? 'stopped' : l.dataset.id))
  check(order.indexOf(written) >= 0 && order.indexOf('stopped') === order.indexOf(written) + 1, 'what was written stays, before the note that it was stopped')
  await page.locator('#state').waitFor({ state: 'hidden' })

  // An error is a line that can be read.
  await say(page, 'This breaks')
  await page.locator('.line.error .text').last().waitFor()

  // Another conversation, and back.
  await page.getByRole('button', { name: 'New conversation' }).first().click()
  await say(page, 'Show me some markdown')
  await page.locator('.line table').waitFor()
  await page.getByRole('button', { name: 'Copy' }).waitFor()
  check(await page.locator('.line').count() === 2, 'it is a conversation of its own')
  await shot(page, 'chat')
  await audit(page, 'conversation')
  await page.reload()
  await page.locator('.line table').waitFor()
  check(await page.locator('#list button').count() === 2, 'two conversations are listed')
  await page.locator('#list button', { hasText: 'slow story' }).click()
  await page.locator('.line.mine', { hasText: 'I want a refund' }).waitFor()

  // The browser's button goes back to the conversation before.
  await page.goBack()
  await page.locator('.line table').waitFor()
  check(await page.locator('.line').count() === 2, 'the conversation before')
  await page.goForward()
  await page.locator('.line.mine', { hasText: 'I want a refund' }).waitFor()

  // Each paragraph has the direction of its language.
  await say(page, 'right to left')
  await page.locator('.line.agent ul', { hasText: 'אחת' }).waitFor()
  const sides = (where) => page.locator('.line').locator(where).last().evaluate((e) => getComputedStyle(e).direction + ' ' + getComputedStyle(e).textAlign)
  for (const [where, side] of [['p:has-text("שלום")', 'rtl start'], ['ul:has-text("אחת")', 'rtl start'], ['p:has-text("hello")', 'ltr start']]) check(await sides(where) === side, where + ' is ' + side + ', got ' + await sides(where))
  await page.fill('#text', 'שלום')
  check(await page.locator('#text').evaluate((e) => e.matches(':dir(rtl)')), 'what is typed goes from right to left')
  await page.fill('#text', '')

  // Another agent.
  await page.selectOption('#agent', 'bob')
  await page.locator('#about', { hasText: 'deliveries' }).waitFor()
  await say(page, 'Hello Bob')
  await heard(page, 'Hello Bob')
  check(await page.locator('.line').count() === 2, 'only Bob answers')

  await overtaken(browser)
  await phone(browser)
  await dark(browser)
  await offline(browser)
})

// An answer that came before the word that its message is stored, as in another tab, stands
// below it.
async function overtaken(browser) {
  const page = await open(browser)
  await page.locator('#text').waitFor()
  const order = await page.evaluate(async () => {
    const { Thread } = await import('/chat/thread.js')
    const thread = new Thread({}, {})
    const at = new Date().toISOString()
    thread.add({ id: 'answer', agent: 'ana', kind: 'reply', text: 'yes', final: true, run: 'r', in_reply_to: ['message'], at })
    thread.add({ id: 'message', mine: true, kind: 'message', text: 'well?', at })
    thread.close()
    return [...document.querySelectorAll('#log .line')].map((e) => e.dataset.id).join(' ')
  })
  check(order === 'message answer', 'the message is above its answer: ' + order)
  await page.context().close()
}

// 360 px wide, nothing moves sideways.
async function phone(browser) {
  const page = await open(browser, { viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 })
  await page.locator('#text').waitFor()
  await page.fill('#text', 'Show me some markdown ' + 'x'.repeat(200))
  await page.locator('#send').click()
  await page.locator('.line table').waitFor()
  check(await wide(page) <= 0, '360 px are enough')
  await page.fill('#text', 'I want a refund.')
  await page.locator('#send').click()
  await page.locator('.choices').waitFor()
  check(await wide(page) <= 0, '360 px are enough for an approval')
  await shot(page, 'phone')
  await audit(page, 'phone')
  await page.getByRole('button', { name: 'Conversations' }).click()
  await page.getByRole('button', { name: 'New conversation' }).first().waitFor()
  await shot(page, 'phone-side')
  await audit(page, 'phone, list open')
  await page.keyboard.press('Escape')
  check(await page.evaluate(() => document.activeElement.id) === 'open-side', 'the focus comes back')
  await page.context().close()
}

async function dark(browser) {
  const page = await open(browser, { colorScheme: 'dark' })
  await say(page, 'Show me some markdown')
  await page.locator('.line table').waitFor()
  await say(page, 'I want a refund.')
  await page.locator('.choices').waitFor()
  await say(page, 'This breaks')
  await shot(page, 'dark')
  await audit(page, 'dark')
  await page.context().close()
}

// What is written while the host cannot be reached is sent when it can.
async function offline(browser) {
  const page = await open(browser)
  await page.locator('#text').waitFor()
  let away = true
  await page.route('**/chat/api/messages', (route) => away ? route.fulfill({ status: 503, headers: { 'Retry-After': '1' }, json: { error: 'away' } }) : route.continue())
  expected.push(/503.*chat\/api\/messages/)
  await say(page, 'Are you there?')
  await page.locator('.sending', { hasText: 'trying again' }).waitFor()
  check(!await page.locator('.line.agent').count(), 'nothing is answered yet')
  away = false
  await heard(page, 'Are you there?')
  check(await page.locator('.sending').count() === 0, 'it is sent')
  check(await page.locator('.line.mine').count() === 1, 'once')
  await page.context().close()
}

