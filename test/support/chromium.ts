import { existsSync } from 'node:fs'

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Why there is no Chromium on this machine, or undefined. */
export const whyNoChromium = (): string | undefined =>
  existsSync(CHROMIUM) ? undefined : `there is no Chromium at ${CHROMIUM}`
