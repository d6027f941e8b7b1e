import type { Deps } from '../context.ts'
import { findInstanceSetting, upsertInstanceSetting } from '../repositories/instance-settings.ts'
import { bestEffort } from './best-effort.ts'

const SETTING = 'apiEnabled'
const FRESH_MS = 1000

/** The kill switch of the whole API. Every process looks again after a second; the one that turned it knows at once. */
export interface ApiSwitch {
  isOn: () => Promise<boolean>
  set: (on: boolean) => Promise<void>
}

export function createApiSwitch({ db, log, config }: Pick<Deps, 'db' | 'log' | 'config'>): ApiSwitch {
  let on = true
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = async () => {
    on = (await findInstanceSetting(db.read, SETTING)) !== 'off'
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
      await db.transact((trx) => upsertInstanceSetting(trx, SETTING, value ? 'on' : 'off'))
      await look()
    },
  }
}
