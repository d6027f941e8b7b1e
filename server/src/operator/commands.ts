import { type Command, Option } from 'commander'
import { createApiKey } from '../accounts/keys.ts'
import * as shops from '../accounts/shops.ts'
import * as users from '../accounts/users.ts'
import { baseUrlOf, endFirstStart, readConfig } from '../config.ts'
import type { Deps } from '../core/context.ts'
import { createDeps } from '../core/deps.ts'
import { createApiSwitch } from '../core/installation.ts'
import { openDatabase } from '../database/database.ts'

type Print = (value: object, text: string) => void

/** Commands for the operator. They access the database directly, also while the server runs. */
export function addOperatorCommands(program: Command): void {
  const add = <Options>(
    parent: Command,
    usage: string,
    description: string,
    work: (deps: Deps, print: Print, options: Options, args: string[]) => Promise<void>,
  ) =>
    parent
      .command(usage)
      .description(description)
      .option('--json', 'print one JSON object')
      .action(async (...given) => {
        const command = given.at(-1) as Command
        const options = command.opts<Options & { json?: boolean }>()
        const print: Print = (value, text) => console.log(options.json ? JSON.stringify(value) : text)
        await withDatabase((deps) => work(deps, print, options, command.args))
      })

  add(program, 'migrate', 'migrate the database schema to the latest version', async (_deps, print) =>
    print({ migrated: true }, 'The schema is up to date.'),
  )

  const shop = program.command('shop').description('create, list and update shops')
  add<{ name: string; plan: shops.Plan; currency: string; ownerEmail: string }>(
    shop,
    'create',
    'create a shop with an owner',
    async (deps, print, options) => {
      if (!shops.isCurrency(options.currency)) throw new Error('--currency must be three capital letters, like USD.')
      if (!options.name.trim()) throw new Error('--name must not be blank.')
      const { shopId, ownerToken } = await shops.create(deps, options)
      print({ shopId, ownerToken }, `Shop ${shopId}. Owner token, shown once: ${ownerToken}`)
    },
  )
    .requiredOption('--name <name>')
    .addOption(planOption().default('PROFESSIONAL'))
    .option('--currency <code>', 'ISO 4217 currency code', 'USD')
    .option('--owner-email <email>', 'the owner', 'owner@localhost')

  add(shop, 'list', 'list the shops', async (deps, print) => {
    const data = await shops.list(deps)
    print(
      { data },
      data
        .map((one) => [one.id, one.plan, one.currency, one.apiEnabled ? 'on' : 'off', one.name].join('\t'))
        .join('\n'),
    )
  })
  add<{ plan?: shops.Plan; api?: 'on' | 'off' }>(
    shop,
    'set <shopId>',
    "change a shop's plan or turn its API on or off",
    async (deps, print, options, [shopId = '']) => {
      if (!options.plan && !options.api) throw new Error('Nothing to change. Send --plan or --api.')
      await shops.set(deps, shopId, options)
      print({ shopId, ...options, json: undefined }, `Shop ${shopId} changed.`)
    },
  )
    .addOption(planOption())
    .addOption(new Option('--api <state>').choices(['on', 'off']))

  const owner = program.command('owner').description('manage the users of a shop')
  add<{ shop: string; email: string; role: 'OWNER' | 'STAFF' }>(
    owner,
    'create',
    'create an owner or a staff member',
    async (deps, print, options) => {
      const { userId, ownerToken } = await shops.createUser(deps, options)
      print({ userId, ownerToken }, `User ${userId}. Token, shown once: ${ownerToken}`)
    },
  )
    .requiredOption('--shop <shopId>')
    .requiredOption('--email <email>')
    .addOption(new Option('--role <role>').choices(['OWNER', 'STAFF']).default('OWNER'))
  add<users.NamedUser>(owner, 'link', 'create a single-use sign-in link for a user', async (deps, print, options) => {
    const { userId, token } = await users.createLink(deps, options)
    const path = `/admin/sign-in?token=${token}`
    print(
      { userId, path },
      `Single-use link, valid for 15 minutes; replace the host if needed: ${baseUrlOf(deps.config)}${path}`,
    )
  })
    .requiredOption('--shop <shopId>')
    .requiredOption('--email <email>')
  add<users.NamedUser>(
    owner,
    'token',
    "replace a user's owner token and end their sessions",
    async (deps, print, options) => {
      const { userId, ownerToken } = await users.replaceToken(deps, options)
      print(
        { userId, ownerToken },
        `User ${userId}. New token, shown once: ${ownerToken}. The old one no longer works.`,
      )
    },
  )
    .requiredOption('--shop <shopId>')
    .requiredOption('--email <email>')
  add<users.NamedUser>(owner, 'revoke', "revoke a user's access", async (deps, print, options) => {
    const { userId } = await users.revoke(deps, options)
    print({ userId }, `User ${userId} no longer has access.`)
  })
    .requiredOption('--shop <shopId>')
    .requiredOption('--email <email>')

  const key = program.command('key').description('manage API keys')
  add<{ shop: string; label: string; scope: string[] }>(
    key,
    'create',
    'create an API key',
    async (deps, print, options) => {
      const { keyId, secret } = await createApiKey(await shops.operatorContext(deps, options.shop), {
        label: options.label,
        scopes: options.scope,
      })
      print({ keyId, secret }, `Key ${keyId}. Secret, shown once: ${secret}`)
    },
  )
    .requiredOption('--shop <shopId>')
    .requiredOption('--label <label>')
    .requiredOption(
      '--scope <scope>',
      'repeat for several; `all` for every scope',
      (scope: string, all: string[] = []) => [...all, scope],
    )

  add(program.command('api').description('turn the whole API on or off'), 'on', 'turn the API on', switchApi(true))
  add(program.commands.find((command) => command.name() === 'api')!, 'off', 'turn the API off', switchApi(false))
}

const planOption = () => new Option('--plan <plan>').choices(shops.PLANS)

const switchApi = (on: boolean) => async (deps: Deps, print: Print) => {
  await createApiSwitch(deps).set(on)
  print({ api: on ? 'on' : 'off' }, `The API is ${on ? 'on' : 'off'}.`)
}

async function withDatabase(work: (deps: Deps) => Promise<void>): Promise<void> {
  const config = readConfig()
  const db = await openDatabase(config.databaseUrl)
  try {
    await db.migrate()
    endFirstStart(config)
    await work(createDeps({ ...config, logLevel: 'warn' }, db))
  } finally {
    await db.close()
  }
}
