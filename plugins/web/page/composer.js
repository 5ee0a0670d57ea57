// The field where a message is written, with its files.

import { make } from './markdown.js'

const $ = (id) => document.getElementById(id)

export class Composer {
  // on.send(text, files) sends.
  constructor(on) {
    this.limits = {} // those of the host, once they are known
    this.files = []
    const text = $('text')
    text.disabled = false // before this Enter would be a new line
    const touch = matchMedia('(pointer: coarse)').matches
    text.addEventListener('input', () => this.fit())
    text.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && !e.shiftKey && !e.isComposing && !touch) { e.preventDefault(); $('composer').requestSubmit() }
    })
    $('composer').addEventListener('submit', (e) => {
      e.preventDefault()
      const words = text.value.trim()
      if (!words && !this.files.length) { text.focus(); return }
      if (new TextEncoder().encode(words).length > this.limits.max_text) { this.wrong('The text is too long; attach it as a file.'); return }
      const files = this.files
      this.files = []
      text.value = ''
      this.wrong('')
      this.showFiles()
      this.fit()
      text.focus()
      on.send(words, files)
    })
    $('attach').addEventListener('click', () => $('files').click())
    $('files').addEventListener('change', () => { this.add($('files').files); $('files').value = '' })
    text.addEventListener('paste', (e) => { if (e.clipboardData?.files.length) { e.preventDefault(); this.add(e.clipboardData.files) } })
    this.takeDrops($('main'))
  }

  takeDrops(area) {
    let over = 0
    const files = (e) => e.dataTransfer?.types.includes('Files')
    area.addEventListener('dragenter', (e) => { if (files(e)) { over++; area.classList.add('drops') } })
    area.addEventListener('dragleave', (e) => { if (files(e) && --over <= 0) { over = 0; area.classList.remove('drops') } })
    area.addEventListener('dragover', (e) => { if (files(e)) e.preventDefault() })
    area.addEventListener('drop', (e) => {
      if (!files(e)) return
      e.preventDefault()
      over = 0
      area.classList.remove('drops')
      this.add(e.dataTransfer.files)
    })
  }

  add(list) {
    this.wrong('')
    for (const f of list) {
      if (this.files.length >= this.limits.max_files) this.wrong(`A message has at most ${this.limits.max_files} files.`)
      else if (f.size > this.limits.max_file) this.wrong(`${f.name} is too large: a file may have ${Math.floor(this.limits.max_file / 1e6)} MB.`)
      else this.files.push(f)
    }
    this.showFiles()
    $('text').focus()
  }

  showFiles() {
    $('chips').replaceChildren(...this.files.map((f) => {
      const drop = make('button', { type: 'button', class: 'icon', 'aria-label': 'Remove ' + f.name }, '×')
      drop.addEventListener('click', () => { this.files = this.files.filter((o) => o !== f); this.showFiles(); $('text').focus() })
      return make('li', {}, make('span', {}, f.name), drop)
    }))
    $('chips').hidden = !this.files.length
  }

  wrong(text) { $('wrong').textContent = text }

  fit() {
    const text = $('text')
    text.style.height = 'auto'
    text.style.height = Math.min(text.scrollHeight, 200) + 'px'
  }
}
