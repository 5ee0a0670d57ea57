// Approve, stop, fork, replay, retry, delete; a timeline that grows; two windows.
import { base, call, check, expected, open, ready, run, send, show, shot, until } from './browser.mjs'

await run(async (browser) => {
  const page = await open(browser, { viewport: { width: 1280, height: 800 } })
  await ready(page)

  // A run asks while the page is open, and goes on when it is answered.
  await send('I want a refund', 'refunds')
  const card = page.locator('.waiting')
  await card.waitFor()
  await card.getByRole('button', { name: 'Approve' }).click()
  await page.locator('.toast', { hasText: 'Answered: approve' }).waitFor()
  await card.waitFor({ state: 'detached' })
  await until('sessions', (a) => a.sessions.find((s) => s.key.endsWith('refunds') && s.state === 'idle'))
  check((await call('GET', 'sessions/search?text=is+refunded')).hits.length > 0, 'the tool ran')

  // Another one is stopped.
  await send('I want a refund', 'stopped')
  await page.locator('tr', { hasText: 'stopped' }).getByRole('button', { name: /Stop/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  check((await call('GET', 'runs')).runs.length === 1, 'nothing is stopped by a dialog that was closed')
  await page.locator('tr', { hasText: 'stopped' }).getByRole('button', { name: /Stop/ }).click()
  await page.getByRole('dialog').getByLabel(/Reason/).fill('not today')
  await page.getByRole('dialog').getByRole('button', { name: 'Stop the run' }).click()
  await page.locator('tr', { hasText: 'stopped' }).waitFor({ state: 'detached' })
  await until('runs', (a) => a.runs.length === 0)

  // A timeline grows while the model writes; a reload shows it growing, too.
  await send('hello', 'story')
  const story = await until('sessions', (a) => a.sessions.find((s) => s.key.endsWith('story')))
  await show(page, 'session/ana/' + story.sid)
  await page.locator('.item', { hasText: 'You said: hello' }).waitFor()
  await send('a slow story', 'story')
  await page.locator('.item', { hasText: 'is writing' }).waitFor()
  await page.locator('.item', { hasText: 'there was a small host' }).waitFor()
  check(await page.locator('.item', { hasText: 'The end.' }).count() === 0, 'it is shown before it is whole')
  await page.reload()
  await page.locator('.item', { hasText: 'small host' }).waitFor()
  await page.locator('.k-agent', { hasText: 'The end.' }).waitFor()
  await page.locator('.k-end').nth(1).waitFor()
  check(await page.locator('.k-agent').count() === 2, 'each answer is shown once')

  // Details, replay, fork beside the original.
  await page.locator('.k-user').last().locator('.when').click()
  await page.getByRole('button', { name: 'Replay from here' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  await page.getByRole('heading', { name: 'Now' }).waitFor()
  check(await page.locator('.beside .bubble').count() >= 2, 'both answers are there')
  await page.getByRole('button', { name: 'Close' }).click()
  await page.locator('.k-user').first().locator('.when').click()
  await page.getByRole('button', { name: 'Fork from here' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
  await page.getByRole('heading', { name: 'Original' }).waitFor()
  check(await page.locator('.thread').count() === 2, 'the fork is beside the original')
  await page.locator('.thread').nth(1).locator('.item').first().waitFor()
  check((await call('GET', 'sessions')).sessions.some((s) => s.key.includes('~fork-1')), 'there is a fork')
  await shot(page, 'fork')

  // The playground answers twice and stores nothing.
  const before = (await call('GET', 'sessions')).sessions.length
  await show(page, 'playground/ana')
  await page.locator('.variant select').nth(1).selectOption('other')
  await page.getByPlaceholder(/Say something/).fill('which model are you?')
  await page.keyboard.press('Enter')
  await page.locator('.turn .bubble:not(.mine)').nth(1).waitFor()
  check((await call('GET', 'sessions')).sessions.length === before, 'nothing is stored')
  await page.getByRole('button', { name: 'Begin anew' }).click()
  await page.locator('.turn').first().waitFor({ state: 'detached' })

  // A dead letter is looked at, sent again, and deleted.
  const old = await until('dead', (a) => a.letters[0])
  await show(page, 'dead')
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.locator('.letter-inside', { hasText: 'no message' }).waitFor()
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.locator('.toast', { hasText: 'Sent again: 1 message' }).waitFor()
  const again = await until('dead', (a) => a.letters.find((l) => l.dead_seq !== old.dead_seq))
  await page.getByLabel('Choose dead letter ' + again.dead_seq).check()
  await page.getByRole('button', { name: 'Delete 1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Every message was handled.').waitFor()

  // The whole way of a message.
  const receipt = await send('hello', 'why')
  await show(page, 'why')
  await page.getByPlaceholder(/Id of a message/).fill(receipt.id)
  await until('sessions', (a) => a.sessions.find((s) => s.key.endsWith('why') && s.state === 'idle'))
  await page.keyboard.press('Enter')
  await page.locator('.way', { hasText: 'run ended' }).waitFor()

  // A model is taken out of service and put back.
  await show(page, 'fleet')
  await page.getByRole('button', { name: 'Take other out of service' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take out of service' }).click()
  await page.getByRole('button', { name: 'Put other back' }).click()
  await page.getByRole('button', { name: 'Take other out of service' }).waitFor()

  // An agent is paused, and only after a question; what comes meanwhile is kept.
  await show(page, 'agents/ana')
  await page.getByRole('button', { name: 'Pause ana' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  check((await call('GET', 'pauses')).pauses.length === 0, 'nothing is paused by a dialog that was closed')
  await page.getByRole('button', { name: 'Pause ana' }).click()
  await page.getByRole('dialog').getByLabel(/Reason/).fill('the shop moves')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await page.locator('.agent', { hasText: 'paused by operator: the shop moves' }).waitFor()
  await send('hello', 'kept')
  await show(page, 'now')
  await page.locator('.alarm', { hasText: 'the shop moves' }).getByRole('link').click()
  check(!(await call('GET', 'sessions/search?text=You+said')).hits.some((h) => h.key.endsWith('kept')), 'nothing has begun')
  await page.getByRole('button', { name: 'Let ana go on' }).click()
  await page.getByRole('button', { name: 'Pause ana' }).waitFor()
  await until('sessions/search?text=You+said', (a) => a.hits.find((h) => h.key.endsWith('kept')))

  // So is a channel, and so are all.
  await show(page, 'fleet')
  for (const [name, target] of [['channel demo', { channel: 'demo' }], ['all agents', {}]]) {
    await page.getByRole('button', { name: 'Pause ' + name }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Let ' + name + ' go on' }).waitFor()
    const list = (await call('GET', 'pauses')).pauses
    check(list.length === 1 && list[0].channel === target.channel && !list[0].agent, 'this alone is paused: ' + JSON.stringify(list))
    await page.getByRole('button', { name: 'Let ' + name + ' go on' }).click()
    await page.getByRole('button', { name: 'Pause ' + name }).waitFor()
  }

  // A token is made, shown once, and revoked.
  await show(page, 'tokens')
  await page.getByText('No token was made yet.').waitFor()
  await page.getByRole('button', { name: 'Make a token' }).click()
  await page.getByRole('dialog').getByLabel(/Name/).fill('Wall 1')
  await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click()
  await page.locator('.toast.bad', { hasText: 'want 1 to 63 of a-z' }).waitFor()
  expected.push(/status of 400/)
  await page.getByRole('button', { name: 'Make a token' }).click()
  await page.getByRole('dialog').getByLabel(/Name/).fill('wall')
  await page.getByRole('dialog').getByLabel('Role').selectOption('chat')
  await page.getByRole('dialog').getByLabel(/Agents/).fill('ana, bob')
  await page.getByRole('dialog').getByLabel(/Ends/).fill('30d')
  await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click()
  const secret = await page.locator('.copy-id').textContent()
  check(/^aht_/.test(secret), 'the token is shown: ' + secret)
  const models = () => fetch(base + '/v1/models', { headers: { Authorization: 'Bearer ' + secret } })
  check((await (await models()).json()).data.length === 2, 'it is good for two agents')
  await shot(page, 'tokens')
  await page.reload()
  await page.locator('tr', { hasText: 'wall' }).waitFor()
  check(!(await page.locator('main').textContent()).includes(secret), 'it is shown once')
  await page.getByRole('button', { name: 'Revoke wall' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No token was made yet.').waitFor()

  // A session is deleted, and only after a question.
  await show(page, 'session/ana/' + story.sid)
  await page.getByRole('button', { name: 'Delete the session' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
  check(!(await call('GET', 'sessions')).sessions.some((s) => s.sid === story.sid), 'it is gone')

  // Who has done all this stands in the log.
  await show(page, 'audit')
  await page.locator('tr', { hasText: 'sessions-delete' }).first().waitFor()
  for (const did of ['approve', 'pause', 'resume', 'tokens-add', 'tokens-revoke', 'breaker']) await page.locator('tr', { hasText: did }).first().waitFor()

  // The operator's chat: taken over, written into, handed back.
  const chats = (await call('GET', 'sessions')).sessions
  await show(page, 'session/ana/' + chats.find((s) => s.key.endsWith('why')).sid)
  check(await page.getByRole('button', { name: 'Take over' }).count() === 0, 'what a program asks for is no chat with a person')
  const chat = chats.find((s) => s.key === 'demo/dm/maria')
  await show(page, 'session/ana/' + chat.sid)
  await page.getByRole('button', { name: 'Take over' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take over' }).click()
  await page.getByPlaceholder(/in the place of ana/).fill('A person here.')
  await page.keyboard.press('Enter')
  await page.locator('.item', { hasText: 'A person here.' }).waitFor()
  check((await call('GET', 'sessions')).sessions.find((s) => s.sid === chat.sid).state === 'operator', 'the chat is taken over')
  await page.getByRole('button', { name: /Hand back/ }).click()
  await page.getByRole('button', { name: 'Take over' }).waitFor()
  await show(page, 'audit')
  for (const did of ['sessions-takeover', 'sessions-say', 'sessions-handback']) await page.locator('tr', { hasText: did }).waitFor()
})
