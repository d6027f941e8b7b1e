import { PAGES, readPage } from './.vitepress/repository.ts'

/** The pages of the packages, which are part of the site as they are. */
export default {
  paths: () => Object.entries(PAGES).map(([file, { page }]) => ({ params: { page }, content: readPage(file) })),
}
