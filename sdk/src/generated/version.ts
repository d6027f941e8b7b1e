// Generated from package.json by `pnpm run generate`. Do not edit.

/** This package's version. */
export const version = '0.1.0'
