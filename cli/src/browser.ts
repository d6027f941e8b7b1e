import { spawn } from 'node:child_process'

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Hands an address to the desktop; false where there is none. No shell sees the address. */
export function openBrowser(url: string): Promise<boolean> {
  const [command = 'xdg-open', ...args] = OPENERS[process.platform] ?? []
  return new Promise((done) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.once('error', () => done(false))
    child.once('spawn', () => {
      child.unref()
      done(true)
    })
  })
}
