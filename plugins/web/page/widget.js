// A button on another site that opens the chat page in a frame:
//   <script src="https://chat.example/chat/widget.js" data-token="…" defer></script>
// data-token is a token of the role chat, data-label what the button says.
(() => {
  const script = document.currentScript
  const host = new URL(script.src).origin
  const label = script.dataset.label || 'Chat'
  let frame = null
  // visitor is who chats, for as long as this browser keeps it.
  const visitor = () => {
    const name = 'agenthost-visitor'
    const made = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
    try {
      const known = localStorage.getItem(name) || made
      localStorage.setItem(name, known)
      return known
    } catch { return made } // no storage: this visit only
  }
  const look = (e, styles) => { for (const [name, value] of Object.entries(styles)) e.style.setProperty(name, value); return e }
  const button = look(document.createElement('button'), {
    position: 'fixed', right: '20px', bottom: '20px', 'z-index': '2147483000', padding: '12px 20px', border: '0', 'border-radius': '99px',
    background: '#2f5bd7', color: '#fff', font: '600 16px/1.2 system-ui, sans-serif', cursor: 'pointer', 'box-shadow': '0 4px 18px rgb(0 0 0 / .25)',
  })
  button.type = 'button'
  button.textContent = label
  button.setAttribute('aria-expanded', 'false')
  const open = () => {
    frame = look(document.createElement('iframe'), {
      position: 'fixed', right: '20px', bottom: '80px', 'z-index': '2147483000', width: 'min(400px, calc(100vw - 40px))',
      height: 'min(620px, calc(100vh - 110px))', border: '1px solid rgb(0 0 0 / .15)', 'border-radius': '16px', background: '#fff', 'box-shadow': '0 10px 40px rgb(0 0 0 / .25)',
    })
    frame.title = label
    frame.src = host + '/chat?embed=1'
    frame.setAttribute('referrerpolicy', 'no-referrer')
    document.body.append(frame)
  }
  addEventListener('message', (e) => {
    if (!frame || e.source !== frame.contentWindow || e.origin !== host || e.data?.agenthost !== 'ready') return
    frame.contentWindow.postMessage({ agenthost: 'token', token: script.dataset.token || '', visitor: visitor() }, host)
  })
  button.addEventListener('click', () => {
    if (!frame) open()
    else frame.hidden = !frame.hidden
    button.setAttribute('aria-expanded', String(!frame.hidden))
  })
  addEventListener('keydown', (e) => { if (e.key === 'Escape' && frame && !frame.hidden) button.click() })
  const show = () => document.body.append(button)
  if (document.body) show()
  else addEventListener('DOMContentLoaded', show)
})()
