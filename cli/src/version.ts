// Made from package.json by scripts/generate.ts; change it there.
export const version = '0.1.0'
