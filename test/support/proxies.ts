import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { snippetsOf } from '../docs/snippets.ts'
import { freePort } from './process.ts'

export type ProxyName = 'nginx' | 'haproxy'

const LANGUAGES = { nginx: 'nginx', haproxy: 'text' }
/** The configuration that the guide to reverse proxies shows. */
export const shownConfiguration = (name: ProxyName): string =>
  snippetsOf('docs/guides/reverse-proxies.md').find(({ language }) => language === LANGUAGES[name])?.code ?? ''
/** Debian installs them here, which is on the path of root only. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

/** Why the proxy cannot run here, or undefined. */
export const whyNoProxy = (name: ProxyName): string | undefined =>
  spawnSync(name, ['-v'], { env }).status === 0 ? undefined : `there is no ${name} on this machine`

/** The settings of the servers that the shown configuration requires. */
export const requiredSettings = (name: ProxyName): Record<string, string> =>
  Object.fromEntries(
    [...shownConfiguration(name).matchAll(/\b(REFERRAL_[A-Z_]+)=(\S+)/g)].map(([, key = '', value = '']) => [
      key,
      value,
    ]),
  )

/** The shown configuration with the ports of this test. */
function configuration(name: ProxyName, port: number, servers: number[]): string {
  let text = shownConfiguration(name).replace(name === 'nginx' ? 'listen 80;' : 'bind :80\n', (line) =>
    line.replace(/:?80/, `127.0.0.1:${port}`),
  )
  for (const [n, server] of servers.entries()) text = text.replace(`127.0.0.1:${8787 + n}`, `127.0.0.1:${server}`)
  return text
}

/** The rest of nginx.conf, for a process without privileges or access to the folders of the system. */
const nginxMain = (folder: string) => `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log;
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  include ${folder}/referral.conf;
}
`

export interface Proxy {
  url: string
  /** Reads its configuration again, as after a change (nginx). */
  reload: () => void
  stop: () => Promise<void>
}

/** Runs a proxy with the shown configuration in front of servers on these ports. */
export async function startProxy(name: ProxyName, servers: number[], folder: string): Promise<Proxy> {
  const port = await freePort()
  const file = join(folder, 'referral.conf')
  writeFileSync(file, configuration(name, port, servers))
  let child: ChildProcess
  if (name === 'nginx') {
    const main = join(folder, 'nginx.conf')
    writeFileSync(main, nginxMain(folder))
    child = spawn('nginx', ['-c', main, '-e', join(folder, 'nginx.log')], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  } else {
    child = spawn('haproxy', ['-db', '-q', '-f', file], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const ended = new Promise((done) => child.once('exit', done))
  const url = `http://127.0.0.1:${port}`
  const isUp = () =>
    fetch(`${url}/healthz`).then(
      ({ status }) => status === 200,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    await sleep(50)
  }
  return {
    url,
    reload: () => void child.kill('SIGHUP'),
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
