// Generated from package.json by `pnpm run generate`. Do not edit.

/** The version of this package. */
export const version = '0.1.0'
