import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { sql } from 'kysely'
import { baseUrlOf, encryptionKeySource } from '../config.ts'
import { isCurrency } from '../contract/is-currency.ts'
import type { Context, Deps } from '../core/context.ts'
import { isEncryptionKeyValid } from '../core/installation.ts'
import { recordAccess } from '../core/mutate.ts'
import { withConnection } from '../database/open.ts'
import { linesOf as auditLinesOf, findPosition, verifyFile } from '../domains/accounts/audit-export.ts'
import * as keys from '../domains/accounts/keys.ts'
import * as shops from '../domains/accounts/shops.ts'
import * as users from '../domains/accounts/users.ts'
import { erasePersonCompletely } from '../domains/privacy/erasure.ts'
import { erasureLogLines, type RepeatedErasures, readLog, repeatErasures } from '../domains/privacy/erasure-log.ts'
import { requireAddress } from '../domains/privacy/person.ts'
import { linesOf as personLinesOf } from '../domains/privacy/person-export.ts'
import { deleteShop } from '../domains/shops/shop-deletion.ts'
import { linesOf } from '../domains/shops/shop-export.ts'

/** Prints a result as JSON or as text. */
export type Print = (value: object, text: string) => void
export type CommandWork<Options> = (deps: Deps, print: Print, options: Options, args: string[]) => Promise<void>
/** Adds a command that accesses the database. */
export type AddCommand = <Options>(
  parent: Command,
  usage: string,
  description: string,
  work: CommandWork<Options>,
) => Command

/** Commands for shops, their users, and their keys. The operator API has the same use cases. */
export function addTenantCommands(program: Command, add: AddCommand): void {
  addShopCommands(program.command('shop').description('create, list, update, suspend, export and delete shops'), add)
  addOwnerCommands(program.command('owner').description('manage the users of a shop'), add)
  addKeyCommands(program.command('key').description('manage API keys'), add)
  addAuditCommands(program.command('audit').description('export and verify audits'), add)
  addPrivacyCommands(program.command('privacy').description('export and erase what is stored about a person'), add)
}

interface ShopOptions {
  name?: string
  plan?: shops.Plan
  api?: 'on' | 'off'
  requestsPerMinute?: number | null
  maxActiveKeys?: number | null
}

function addShopCommands(shop: Command, add: AddCommand): void {
  add<{ name: string; plan: shops.Plan; currency: string; timeZone: string; ownerEmail: string; test?: boolean }>(
    shop,
    'create',
    'create a shop with an owner',
    async (deps, print, options) => {
      if (!isCurrency(options.currency)) throw new Error('--currency must be an ISO 4217 currency, like USD.')
      if (!options.name.trim()) throw new Error('--name must not be blank.')
      const { shop, owner } = await shops.create(deps, options)
      print({ shopId: shop.id, ownerToken: owner.token }, `Shop ${shop.id}. Owner token, shown once: ${owner.token}`)
    },
  )
    .requiredOption('--name <name>')
    .addOption(planOption().default('PROFESSIONAL'))
    .option('--currency <code>', 'ISO 4217 currency code', 'USD')
    .option('--time-zone <name>', 'the time zone of its months, such as Europe/Berlin', 'UTC')
    .option('--owner-email <email>', 'the owner', 'owner@localhost')
    .option('--test', 'a test shop, with keys rk_test_… and its own clock')

  add(shop, 'list', 'list the shops', async (deps, print) => {
    const data = await shops.list(deps)
    const columns = (shop: shops.Shop) => [shop.id, shop.plan, shop.currency, shop.apiEnabled ? 'on' : 'off', shop.name]
    const states = (shop: shops.Shop) => [shop.status, ...(shop.isTest ? ['test'] : [])]
    print({ data }, data.map((shop) => [...columns(shop), ...states(shop)].join('\t')).join('\n'))
  })
  add<ShopOptions>(
    shop,
    'set <shopId>',
    'change the name, the plan, the API switch or the limits of a shop',
    async (deps, print, { api, name, plan, requestsPerMinute, maxActiveKeys }, [shopId = '']) => {
      const changes = { name, plan, requestsPerMinute, maxActiveKeys }
      const body = { ...changes, ...(api && { apiEnabled: api === 'on' }) }
      if (Object.values(body).every((value) => value === undefined))
        throw new Error('Nothing to change. Send --name, --plan, --api, --requests-per-minute or --max-active-keys.')
      await shops.update(deps, shopId, body)
      print({ shopId, ...changes, api }, `Shop ${shopId} changed.`)
    },
  )
    .option('--name <name>')
    .addOption(planOption())
    .addOption(new Option('--api <state>').choices(['on', 'off']))
    .option('--requests-per-minute <n>', 'per API key, or `plan` for the limit of the plan', parseLimit('plan'))
    .option('--max-active-keys <n>', 'or `default` for 20', parseLimit('default'))
  add(
    shop,
    'suspend <shopId>',
    'reject requests of a shop and hold back its webhooks',
    async (deps, print, _, [id = '']) =>
      print({ shopId: id, status: (await shops.suspend(deps, id)).status }, `Shop ${id} is suspended.`),
  )
  add(shop, 'resume <shopId>', 'end the suspension of a shop', async (deps, print, _, [id = '']) =>
    print({ shopId: id, status: (await shops.resume(deps, id)).status }, `Shop ${id} is active.`),
  )
  add(
    shop,
    'export <shopId> <file>',
    'write every row of a shop as NDJSON, without credentials',
    async (deps, print, _, [id = '', file = '']) => {
      const { rows, sha256 } = await exportTo(deps, id, file)
      print({ shopId: id, file, rows, sha256 }, `${file}: ${rows} rows. SHA-256, needed to delete the shop: ${sha256}`)
    },
  )
  add<{ confirm: string; export: string; force?: boolean }>(
    shop,
    'delete <shopId>',
    'export a suspended shop to a new file, then delete all its rows',
    async (deps, print, options, [id = '']) => {
      const { name, status } = await shops.read(deps, id)
      if (options.confirm !== name) throw new Error('--confirm must be the exact name of the shop.')
      if (status === 'ACTIVE') throw new Error(`Suspend the shop before you delete it: shop suspend ${id}.`)
      const { sha256: digest } = await exportTo(deps, id, options.export)
      const rows = await deleteCompletely(deps, id, { name, digest, force: options.force === true })
      print(
        { shopId: id, deleted: true, rows, file: options.export, sha256: digest },
        `Shop ${id} is deleted: ${rows} rows. Its export is ${options.export}.`,
      )
    },
  )
    .requiredOption('--confirm <name>', 'the name of the shop')
    .requiredOption('--export <file>', 'where to write the export')
    .option('--force', 'delete the shop even if it has an open payout batch')
}

async function deleteCompletely(...deletion: Parameters<typeof deleteShop>): Promise<number> {
  for (let rows = 0; ; ) {
    const done = await deleteShop(...deletion)
    rows += done.rows
    if (done.deleted) return rows
  }
}

/** Writes lines to a new file, readable by its owner only, and flushes it to disk. */
async function writeLines(
  file: string,
  lines: AsyncGenerator<string>,
  onLine: (line: string) => void = () => {},
): Promise<void> {
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true })
  await once(stream, 'open')
  for await (const line of lines) {
    onLine(line)
    if (!stream.write(line)) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'finish')
}

/** Writes a shop's export to a new file. */
async function exportTo(deps: Deps, shopId: string, file: string): Promise<{ rows: number; sha256: string }> {
  const ctx = await shops.operatorContext(deps, shopId)
  const hash = createHash('sha256')
  let end: { rows: number; sha256: string } | undefined
  await writeLines(file, linesOf(ctx), (line) => {
    end = JSON.parse(line).end
    if (!end) hash.update(line)
  })
  if (!end || end.sha256 !== hash.digest('hex')) throw new Error(`The export in ${file} is incomplete.`)
  return end
}

/** Adds commands for one shop, which their option `--shop` names. */
const forShop =
  (parent: Command, add: AddCommand) =>
  <Options extends object>(
    usage: string,
    description: string,
    work: (ctx: Context, print: Print, options: Options, args: string[]) => Promise<void>,
  ): Command =>
    add<Options & { shop: string }>(parent, usage, description, async (deps, print, options, args) =>
      work(await shops.operatorContext(deps, options.shop), print, options, args),
    ).requiredOption('--shop <shopId>')

interface UserOptions {
  email: string
}

function addOwnerCommands(owner: Command, add: AddCommand): void {
  const addForShop = forShop(owner, add)
  const addForUser = <Options extends UserOptions = UserOptions>(...command: Parameters<typeof addForShop<Options>>) =>
    addForShop<Options>(...command).requiredOption('--email <email>')
  addForUser<UserOptions & { role: 'OWNER' | 'STAFF' }>(
    'create',
    'create an owner or a staff member',
    async (ctx, print, options) => {
      const { id, token } = await users.create(ctx, options)
      print({ userId: id, ownerToken: token }, `User ${id}. Token, shown once: ${token}`)
    },
  ).addOption(new Option('--role <role>').choices(['OWNER', 'STAFF']).default('OWNER'))
  addForShop('list', 'list the users of a shop', async (ctx, print) => {
    const { data } = await users.list(ctx)
    const state = ({ revokedAt }: (typeof data)[number]) => (revokedAt === null ? 'active' : 'revoked')
    print({ data }, data.map((owner) => [owner.id, owner.role, state(owner), owner.email].join('\t')).join('\n'))
  })
  addForUser('link', 'create a single-use sign-in link for a user', async (ctx, print, options) => {
    const { userId, path } = await users.createLink(ctx, options)
    const { publicUrl } = ctx.config
    const note = publicUrl ? '' : '; replace the host if needed, or set REFERRAL_PUBLIC_URL'
    const link = `${publicUrl ?? baseUrlOf(ctx.config)}${path}`
    print({ userId, path }, `Single-use link, valid for 15 minutes${note}: ${link}`)
  })
  addForUser('token', "replace a user's owner token and end their sessions", async (ctx, print, options) => {
    const { id, token } = await users.replaceToken(ctx, options)
    print(
      { userId: id, ownerToken: token },
      `User ${id}. New token, shown once: ${token}. The old one no longer works.`,
    )
  })
  addForUser('revoke', "revoke a user's access", async (ctx, print, options) => {
    const { userId } = await users.revoke(ctx, options)
    print({ userId }, `User ${userId} no longer has access.`)
  })
}

function addKeyCommands(key: Command, add: AddCommand): void {
  const addForShop = forShop(key, add)
  addForShop<{ label: string; scope: string[] }>(
    'create',
    'create an API key',
    async (ctx, print, { label, scope }) => {
      const { keyId, secret } = await keys.createApiKey(ctx, { label, scopes: scope })
      print({ keyId, secret }, `Key ${keyId}. Secret, shown once: ${secret}`)
    },
  )
    .requiredOption('--label <label>')
    .requiredOption(
      '--scope <scope>',
      'repeat for several; `all` for every scope',
      (scope: string, all: string[] = []) => [...all, scope],
    )
  addForShop('list', 'list API keys', async (ctx, print) => {
    const { data } = await keys.list(ctx)
    print({ data }, data.map((key) => [key.id, key.status, key.prefix, key.label].join('\t')).join('\n'))
  })
  addForShop<{ overlapSeconds?: number }>(
    'rotate <keyId>',
    'replace the secret of an API key',
    async (ctx, print, options, [id = '']) => {
      const { secret, previousSecretUntil } = await keys.rotate(ctx, id, options)
      const old = previousSecretUntil
        ? `The old one works until ${previousSecretUntil}.`
        : 'The old one no longer works.'
      print({ keyId: id, secret, previousSecretUntil }, `Key ${id}. New secret, shown once: ${secret}. ${old}`)
    },
  ).option('--overlap-seconds <n>', 'how long the old secret remains valid, up to a week', parseOverlap)
  addForShop('revoke <keyId>', 'revoke an API key', async (ctx, print, _, [id = '']) => {
    await keys.revoke(ctx, id)
    print({ keyId: id }, `Key ${id} no longer works.`)
  })
}

function addAuditCommands(audit: Command, add: AddCommand): void {
  add<{ shop: string; after: number }>(
    audit,
    'export <file>',
    'write the audit of a shop, or of the `installation`, as NDJSON',
    async (deps, print, { shop, after }, [file = '']) => {
      const from = await findPosition(deps.db, shop, after)
      await writeLines(file, auditLinesOf(deps.db, shop, from))
      const { rows, end, problem } = await verifyFile(file)
      if (problem) throw new Error(problem)
      print({ file, rows, end }, `${file}: ${rows} rows, the last is ${end?.seq} with hash ${end?.hash}.`)
    },
  )
    .requiredOption('--shop <shopId>')
    .option('--after <seq>', 'only rows after the one with this number', parseSeq, 0)
  audit
    .command('verify <file>')
    .description('verify an export without the database; exits with 1 when it was changed or is incomplete')
    .option('--known <seq:hash>', 'a row that must be in the file, such as the end of an earlier export', parseKnown)
    .option('--json', 'print one JSON object')
    .action(async (file: string, { known, json }: { known?: { seq: number; hash: string }; json?: boolean }) => {
      const check = await verifyFile(file, known)
      const text = check.ok
        ? `${check.rows} rows of ${check.shopId} are unchanged and complete, from ${check.after!.seq + 1} to ${check.end!.seq}.`
        : check.problem
      console.log(json ? JSON.stringify(check) : text)
      if (!check.ok) process.exitCode = 1
    })
}

/**
 * With another key, encrypted values would look lost, and an erasure could not be repeated after a restore.
 *
 * @throws Error if the shell has a different key than the server.
 */
export async function requireServerKey({ db, vault, config: { dataDir } }: Deps): Promise<void> {
  if (await isEncryptionKeyValid(db.read, vault)) return
  throw new Error(
    `${encryptionKeySource(dataDir)}, which this command reads, is not the server's encryption key. The server reads REFERRAL_ENCRYPTION_KEY or REFERRAL_ENCRYPTION_KEY_FILE from its environment, and without them ${encryptionKeySource(dataDir, {})}. Run the command with the server's environment.`,
  )
}

interface PersonOptions {
  customer: string
}

function addPrivacyCommands(privacy: Command, add: AddCommand): void {
  // Before anything else: another key than the server's finds no address.
  const addWithServerKey: AddCommand = <Options>(
    ...[parent, usage, description, work]: Parameters<typeof add<Options>>
  ) =>
    add<Options>(parent, usage, description, async (deps, ...rest) => {
      await requireServerKey(deps)
      await work(deps, ...rest)
    })
  const addForShop = forShop(privacy, addWithServerKey)
  const addForPerson = <Options extends PersonOptions = PersonOptions>(
    ...command: Parameters<typeof addForShop<Options>>
  ) => addForShop<Options>(...command).requiredOption('--customer <email>', 'an address of the person')
  addForPerson(
    'export <file>',
    'write everything that is stored about a customer or an affiliate as NDJSON',
    async (ctx, print, { customer }, [file = '']) => {
      const email = requireAddress(customer)
      await recordAccess(ctx, 'person.exported', null)
      let rows = 0
      await writeLines(file, personLinesOf(ctx, email), (line) => {
        rows = JSON.parse(line).end?.rows ?? rows
      })
      print({ shopId: ctx.shop.id, file, rows }, `${file}: ${rows} rows.`)
    },
  )
  addForPerson<PersonOptions & { vacuum?: boolean }>(
    'erase',
    'replace a customer or an affiliate by pseudonyms permanently; run it again after an interruption',
    async (ctx, print, { customer, vacuum }) => {
      const { id, rows, mentions } = await erasePersonCompletely(ctx, requireAddress(customer))
      if (vacuum) await withConnection(ctx.config.databaseUrl, (db) => sql`vacuum`.execute(db))
      const rest = mentions.map(({ table, id: row }) => `Your own text still mentions the person: ${table} ${row}.`)
      print({ shopId: ctx.shop.id, erasureId: id, rows, mentions }, [`Erased from ${rows} rows.`, ...rest].join('\n'))
    },
  ).option('--vacuum', 'also rewrite the whole database; changes wait for it')
  add(
    privacy,
    'log <file>',
    'write which persons were erased, as keyed hashes, to repeat the erasures after a restore',
    async (deps, print, _options, [file = '']) => {
      let erasures = 0
      await writeLines(file, erasureLogLines(deps.db.read), (line) => {
        erasures = JSON.parse(line).end?.erasures ?? erasures
      })
      print({ file, erasures }, `${file}: ${erasures} erasures.`)
    },
  )
  add(
    privacy,
    'repeat <file>',
    'after a restore, repeat the erasures of a log that the database does not contain',
    async (deps, print, _options, [file = '']) => {
      const result = await repeatErasures(deps, await readLog(createReadStream(file, 'utf8')))
      print(result, describeRepeated(result).join('\n'))
      if (result.failed.length > 0) process.exitCode = 1
    },
  )
}

/** One line for each erasure that must be repeated by hand. */
export const describeRepeated = ({ repeated, unnecessary, failed }: RepeatedErasures): string[] => [
  `${repeated} erasures repeated, ${unnecessary} were not necessary.`,
  ...failed.map(({ shopId, id, error }) => `Not repeated: ${id} of shop ${shopId}. ${error}`),
  ...(failed.length > 0 ? ['Then repeat the command.'] : []),
]

function parseSeq(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be the number of a row.')
  return Number(text)
}

function parseKnown(text: string): { seq: number; hash: string } {
  const [, seq, hash = ''] = /^(\d{1,9}):([0-9a-f]{64})$/.exec(text) ?? []
  if (!seq) throw new InvalidArgumentError('It must be the number of a row, a colon, and its hash.')
  return { seq: Number(seq), hash }
}

const planOption = () => new Option('--plan <plan>').choices(shops.PLANS)

/** Parses a number, or the given word as null. */
const parseLimit =
  (word: string) =>
  (text: string): number | null => {
    if (text === word) return null
    if (!/^[1-9]\d{0,5}$/.test(text))
      throw new InvalidArgumentError(`It must be an integer from 1 to 999999, or ${word}.`)
    return Number(text)
  }

function parseOverlap(text: string): number {
  const seconds = Number(text)
  if (!/^\d{1,6}$/.test(text) || seconds > keys.MAX_OVERLAP_SECONDS)
    throw new InvalidArgumentError(`It must be an integer from 0 to ${keys.MAX_OVERLAP_SECONDS}.`)
  return seconds
}
