import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig } from 'vitepress'
import { PAGES, REPOSITORY, readPage, resolveLink, slugify, sourceOf } from './repository.ts'

const page = (text: string, link: string) => ({ text, link })
/** A file next to the pages, which the router of the site does not open. */
const file = (text: string, link: string) => ({ text, link, target: '_self' })

const SIDEBAR = [
  {
    text: 'Start',
    items: [page('Two commands', '/start'), page('Concepts and terms', '/concepts/')],
  },
  {
    text: 'Concepts',
    items: [
      page('How an order finds its affiliate', '/concepts/attribution'),
      page('What an order earns', '/concepts/commissions'),
      page('Program terms', '/concepts/terms'),
      page('Customers', '/concepts/customers'),
      page('Refunds', '/concepts/refunds'),
      page('Payout batches', '/concepts/payouts'),
      page('Payments', '/concepts/payments'),
      page('Statements', '/concepts/statements'),
      page('Webhooks', '/concepts/webhooks'),
      page('Test shops', '/concepts/test-shops'),
    ],
  },
  {
    text: 'Guides',
    items: [
      page('The merchant dashboard', '/guides/dashboard'),
      page('Headless checkout', '/guides/headless-checkout'),
      page('Static shop', '/guides/static-shop'),
      page('Shopify end to end', '/guides/shopify'),
      page('Connect a Shopify store', '/stores'),
      page('Connect Stripe', '/stripe'),
      page('Next.js', '/guides/nextjs'),
      page('Workers', '/guides/workers'),
      page('Receive webhooks', '/guides/receive-webhooks'),
      page('Reconcile orders', '/guides/reconcile-orders'),
      page('Payouts from cron', '/guides/payouts-from-cron'),
      page('A page for affiliates', '/guides/affiliate-portal'),
      page('Agents', '/guides/agents'),
      page('Privacy requests', '/guides/privacy-requests'),
      page('Move from another program', '/guides/moving'),
      page('Examples', '/guides/examples'),
      page('CLI examples', '/guides/cli-examples'),
    ],
  },
  {
    text: 'Self-hosting',
    items: [
      page('Run it', '/self-hosting/'),
      page('Settings', '/self-hosting/settings'),
      page('Containers and Kubernetes', '/self-hosting/containers'),
      page('PostgreSQL and multiple servers', '/self-hosting/postgresql'),
      page('Beyond one PostgreSQL', '/scaling'),
      page('Reverse proxy and restarts', '/self-hosting/reverse-proxy'),
      page('Proxy configurations', '/guides/reverse-proxies'),
      page('Sign-in', '/self-hosting/sign-in'),
      page('Many shops', '/self-hosting/tenants'),
      page('Health and metrics', '/self-hosting/monitoring'),
      page('Backups and restores', '/self-hosting/backups'),
      page('Upgrades', '/self-hosting/upgrades'),
      page('Retention', '/self-hosting/retention'),
      page('Reliability', '/reliability'),
      page('Security', '/operations/security'),
      page('Benchmarks', '/benchmarks'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Overview', '/reference/'),
      file('API', '/api/'),
      page('Errors', '/reference/errors'),
      page('SDK', '/reference/sdk'),
      page('SDK: all exports', '/reference/sdk-api'),
      page('SDK compared', '/reference/sdk-comparison'),
      page('CLI', '/reference/cli'),
      page('Webhook verifier', '/reference/webhook-verifier'),
      page('Conformance suite', '/reference/conformance-suite'),
      page('Rules of the contract', '/reference/conformance'),
    ],
  },
  {
    text: 'Project',
    items: [
      page('Decisions', '/decisions/'),
      page('Dependencies', '/decisions/dependencies'),
      page('Changelog', '/changelog'),
      page('Contributing', '/contributing'),
    ],
  },
]

export default defineConfig({
  lang: 'en-US',
  title: 'Referral Program API',
  description: 'An open, self-hostable API for referral programs: attribution, commissions, payouts, and webhooks.',
  base: process.env.DOCS_BASE ?? '/',
  head: [['link', { rel: 'icon', href: `${process.env.DOCS_BASE ?? '/'}icon.svg` }]],
  outDir: '../.artifacts/site',
  cacheDir: '../.artifacts/vitepress',
  cleanUrls: true,
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  ignoreDeadLinks: false,
  /** Writes each page as Markdown, and llms.txt, which lists them for language models. */
  buildEnd({ outDir, pages }) {
    const titleOf = (out: string) => /^# (.+)$/m.exec(readFileSync(join(outDir, out), 'utf8'))?.[1]
    const written = new Map<string, string>()
    for (const name of pages.concat(Object.values(PAGES).map(({ page }) => `${page}.md`))) {
      if (name.includes('[')) continue
      const out = name.replace(/README\.md$/, 'index.md')
      mkdirSync(dirname(join(outDir, out)), { recursive: true })
      writeFileSync(join(outDir, out), readPage(sourceOf(name)))
      written.set(`/${out.replace(/(index)?\.md$/, '')}`, out)
    }
    const sections = SIDEBAR.map(({ text, items }) => {
      const links = items.flatMap(({ text, link }) => (written.has(link) ? `- [${text}](${written.get(link)})` : []))
      for (const { link } of items) written.delete(link)
      return `## ${text}\n\n${links.join('\n')}`
    })
    // Decision records are not in the sidebar.
    const others = [...written.values()].filter((out) => out !== 'index.md').map((out) => `- [${titleOf(out)}](${out})`)
    sections.push(`## Optional\n\n${others.sort().join('\n')}`)
    const head = `# Referral Program API\n\n> An open, self-hostable API for referral programs.\n\nThe contract: api/openapi.yaml, api/openapi.json. Workflows that use it: api/referral.arazzo.yaml`
    writeFileSync(join(outDir, 'llms.txt'), `${head}\n\n${sections.join('\n\n')}\n`)
  },
  markdown: {
    anchor: { slugify },
    config(md) {
      // Pages contain no HTML but comments: `<name>` in prose is text.
      for (const rule of ['html_inline', 'html_block'] as const) {
        md.renderer.rules[rule] = (tokens, at) => {
          const { content = '' } = tokens[at] ?? {}
          return content.startsWith('<!--') ? '' : md.utils.escapeHtml(content)
        }
      }
      // Sources are read in the repository too, where links are relative to the file.
      const render = md.renderer.rules.link_open
      md.renderer.rules.link_open = (tokens, at, options, env, self) => {
        const token = tokens[at]
        const href = token?.attrGet('href')
        if (token && href) token.attrSet('href', resolveLink(sourceOf(env.relativePath), href))
        return render ? render(tokens, at, options, env, self) : self.renderToken(tokens, at, options)
      }
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      page('Start', '/start'),
      page('Concepts', '/concepts/'),
      page('Guides', '/guides/headless-checkout'),
      page('Self-hosting', '/self-hosting/'),
      page('Reference', '/reference/'),
    ],
    sidebar: SIDEBAR,
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    footer: { message: 'MIT license' },
  },
})
