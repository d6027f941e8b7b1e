import type { ShopRow } from '../database/tables.ts'
import { bestEffort } from './best-effort.ts'
import type { Context, Deps } from './context.ts'
import { API_SWITCH, findInstanceSetting, upsertInstanceSetting } from './installation-settings.ts'
import { mutate } from './mutate.ts'

const FRESH_MS = 1000

/** The kill switch of the whole API. Every process looks again after a second; the one that turned it knows at once. */
export interface ApiSwitch {
  isOn: () => Promise<boolean>
  set: (on: boolean) => Promise<void>
}

/** What concerns every shop is audited under a name that no shop has. */
const forInstallation = (deps: Deps): Context => ({
  ...deps,
  shop: { id: 'installation' } as ShopRow,
  actor: 'operator',
  requestId: deps.newId('req'),
})

export function createApiSwitch(deps: Deps): ApiSwitch {
  const { db, log, config } = deps
  let on = true
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = async () => {
    on = (await findInstanceSetting(db.read, API_SWITCH)) !== 'off'
    lookedAt = performance.now()
  }
  return {
    isOn: async () => {
      if (config.apiDisabled) return false
      // A database that does not answer leaves the switch where it was; the call itself will say 503.
      if (performance.now() - lookedAt > FRESH_MS) await bestEffort(log, 'api_switch_unreadable', look)
      return on
    },
    set: async (value) => {
      await mutate(forInstallation(deps), async (trx) => {
        await upsertInstanceSetting(trx, API_SWITCH, value ? 'on' : 'off')
        return { result: undefined, audit: { action: value ? 'api.switched_on' : 'api.switched_off', subjectId: null } }
      })
      await look()
    },
  }
}
