import pg from 'pg'

/** The hosts of a `DATABASE_URL`, and the one that connections are opened to. */
interface Hosts {
  /** A URL with a single host for each. */
  urls: string[]
  mustBeWritable: boolean
  current: number
}

/** Shared by all pools of a URL, so that one of them finds the writable host for all. */
const hostsByUrl = new Map<string, Hosts>()

const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary']

/** @throws Error for an unsupported `target_session_attrs`. */
function hostsOf(url: string): Hosts {
  const known = hostsByUrl.get(url)
  if (known) return known
  const [, start = '', names = '', path = '', query = ''] =
    /^(\w+:\/\/(?:[^@/?]*@)?)([^/?]*)([^?]*)\??(.*)$/.exec(url) ?? []
  const parameters = new URLSearchParams(query)
  const attributes = parameters.get('target_session_attrs')
  if (attributes !== null && !SESSION_ATTRIBUTES.includes(attributes)) {
    throw new Error(
      `target_session_attrs in DATABASE_URL must be one of ${SESSION_ATTRIBUTES.join(', ')}, not "${attributes}".`,
    )
  }
  parameters.delete('target_session_attrs')
  const rest = parameters.size > 0 ? `${path}?${parameters}` : path
  const list = names.split(',')
  const hosts: Hosts = {
    urls: list.map((name) => `${start}${name}${rest}`),
    // A server cannot use a read-only host, so several hosts are a primary and its standbys.
    mustBeWritable: attributes === null ? list.length > 1 : attributes !== 'any',
    current: 0,
  }
  hostsByUrl.set(url, hosts)
  return hosts
}

/** Uses the next host from now on, unless another connection has switched already. */
function switchFrom(hosts: Hosts, host: number): void {
  if (hosts.current === host) hosts.current = (host + 1) % hosts.urls.length
}

/** pg-pool's message when all connections stayed busy, which says nothing about the host. */
const POOL_EXHAUSTED = 'timeout exceeded when trying to connect'
const READ_ONLY = '25006'

/**
 * Opens a pool to a URL that may name several hosts: `postgres://a:5432,b:5432/db?target_session_attrs=read-write`.
 * Connections go to one host that accepts writes; it is chosen again when connecting fails or a write is rejected.
 */
export function createPool(url: string, options: pg.PoolConfig): pg.Pool {
  const hosts = hostsOf(url)
  if (!hosts.mustBeWritable && hosts.urls.length === 1) return new pg.Pool({ ...options, connectionString: url })
  const { onConnect } = options
  return new FailoverPool(hosts, {
    ...options,
    onConnect: async (client) => {
      if (hosts.mustBeWritable) await requireWritable(client)
      await onConnect?.(client)
    },
  })
}

async function requireWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`select current_setting('transaction_read_only') as "readOnly"`)
  if (rows[0].readOnly === 'on') throw new Error('The database is read-only')
}

interface FailoverClient extends pg.PoolClient {
  hostIndex: number
}

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: pg.PoolClient['release']) => void

class FailoverPool extends pg.Pool {
  readonly #hosts: Hosts

  constructor(hosts: Hosts, options: pg.PoolConfig) {
    const Base = (options.Client as typeof pg.Client | undefined) ?? pg.Client
    class Client extends Base {
      readonly hostIndex = hosts.current

      constructor(config: pg.ClientConfig) {
        super({ ...config, connectionString: hosts.urls[hosts.current]! })
        const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
        // A primary that became a standby keeps its connections.
        connection.on('errorMessage', ({ code }: { code?: string }) => {
          if (code === READ_ONLY) switchFrom(hosts, this.hostIndex)
        })
      }
    }
    super({ ...options, Client: Client as unknown as new () => pg.ClientBase })
    this.#hosts = hosts
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    const connected = this.#connect(() => super.connect())
    if (!callback) return connected
    connected.then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error, undefined, () => {}),
    )
    return undefined
  }

  /** Tries each host once. */
  async #connect(connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    for (let failures = 0; ; ) {
      const host = this.#hosts.current
      try {
        const client = (await connect()) as FailoverClient
        if (client.hostIndex === this.#hosts.current) return client
        client.release(true)
      } catch (error) {
        if ((error as Error).message === POOL_EXHAUSTED) throw error
        switchFrom(this.#hosts, host)
        if (++failures >= this.#hosts.urls.length) throw error
      }
    }
  }
}
