// Generated from openapi.yaml by scripts/generate.ts. Do not edit.
import type { Operation } from './call.ts'

/** The operations that the MCP server offers. */
export const operations: readonly Operation[] = [
  {
    name: 'listAffiliates',
    group: 'affiliates',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/affiliates',
    description:
      "List affiliates\n\nNewest first. Archived affiliates are hidden. With an affiliate's token, a row has the fields of `AffiliateSelf`.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        status: { type: 'string', enum: ['PENDING', 'ACTIVE', 'APPROVED', 'REJECTED'] },
        campaignId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        q: {
          type: 'string',
          maxLength: 200,
          description:
            'Searches name, email address, first name, and last name, regardless of letter case, accents, and forms of apostrophes and hyphens. `%` and `_` are literal characters. A `+` in an email address may be sent unencoded.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'createAffiliate',
    group: 'affiliates',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/affiliates',
    description:
      "Create an affiliate\n\nThe affiliate starts `PENDING`, with a generated slug and discount code. Without `campaignId`, it joins the shop's default program, if there is one.\n`name` or `firstName` is required; without `name`, the name is `firstName` and `lastName` joined by a space.\nA program with `autoApproveAffiliate` auto-approves the affiliate: the response has the status `APPROVED`, and `affiliate.approved` and `affiliate.status_changed` are sent.\n\nWrites the audit record `affiliate.created` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates',
    input: {
      type: 'object',
      properties: {
        body: {
          allOf: [
            {
              type: 'object',
              required: ['email'],
              additionalProperties: false,
              properties: {
                email: {
                  type: 'string',
                  minLength: 3,
                  maxLength: 254,
                  pattern: '^\\s*[^\\s@<>",;]+@[^\\s@<>",;.]+([.][^\\s@<>",;.]+)+\\s*$',
                  description:
                    "Returned as sent, without leading and trailing whitespace. Addresses are compared case-insensitively, in Unicode form NFC,\nwith an internationalized domain in its ASCII form (`xn--`) and without a trailing dot of the domain. The check for self-referral\n(`SELF_REFERRAL`) also ignores a display name (`Ada <ada@example.com>`), a plus tag, the dots of Gmail addresses, `googlemail.com` for `gmail.com`,\ninvisible characters and compatibility forms (fullwidth letters). It compares every address in the customer's text.",
                },
                name: { type: ['string', 'null'], minLength: 1, maxLength: 200 },
                firstName: { type: ['string', 'null'], minLength: 1, maxLength: 100 },
                lastName: { type: ['string', 'null'], minLength: 1, maxLength: 100 },
                campaignId: {
                  type: ['string', 'null'],
                  minLength: 1,
                  maxLength: 64,
                  description: 'The program to join. Must belong to your shop.',
                },
              },
            },
            {
              anyOf: [
                { type: 'object', required: ['name'], properties: { name: { type: 'string', pattern: '\\S' } } },
                {
                  type: 'object',
                  required: ['firstName'],
                  properties: { firstName: { type: 'string', pattern: '\\S' } },
                },
              ],
            },
          ],
          description:
            '`name` or `firstName` is required. Names in every script are accepted and returned as sent; only U+0000 and lone surrogates are rejected. A name may contain\ncontrol or bidirectional formatting characters: remove or isolate them for display, as the dashboard and the CLI do.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'updateAffiliate',
    group: 'affiliates',
    isOwner: false,
    method: 'PATCH',
    path: '/api/v1/affiliates',
    description:
      'Update an affiliate\n\nSend only the fields to change; `null` clears an optional one. Every status change is allowed; sending the current status changes nothing.\nA name derived from `firstName` and `lastName` is updated with them; a name you sent is kept.\n\nA status change sends `affiliate.status_changed`, preceded by `affiliate.approved` or `affiliate.rejected` if it applies.\nWrites the audit record `affiliate.updated` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates',
    input: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        body: {
          type: 'object',
          additionalProperties: false,
          properties: {
            name: { type: 'string', minLength: 1, maxLength: 200, pattern: '\\S' },
            firstName: { type: ['string', 'null'], minLength: 1, maxLength: 100 },
            lastName: { type: ['string', 'null'], minLength: 1, maxLength: 100 },
            email: {
              type: 'string',
              minLength: 3,
              maxLength: 254,
              pattern: '^\\s*[^\\s@<>",;]+@[^\\s@<>",;.]+([.][^\\s@<>",;.]+)+\\s*$',
              description:
                "Returned as sent, without leading and trailing whitespace. Addresses are compared case-insensitively, in Unicode form NFC,\nwith an internationalized domain in its ASCII form (`xn--`) and without a trailing dot of the domain. The check for self-referral\n(`SELF_REFERRAL`) also ignores a display name (`Ada <ada@example.com>`), a plus tag, the dots of Gmail addresses, `googlemail.com` for `gmail.com`,\ninvisible characters and compatibility forms (fullwidth letters). It compares every address in the customer's text.",
            },
            phone: { type: ['string', 'null'], maxLength: 50 },
            website: { type: ['string', 'null'], maxLength: 2048 },
            status: { type: 'string', enum: ['PENDING', 'ACTIVE', 'APPROVED', 'REJECTED'] },
            campaignId: { type: ['string', 'null'], minLength: 1, maxLength: 64 },
            instagramHandle: { type: ['string', 'null'], maxLength: 100 },
            tiktokHandle: { type: ['string', 'null'], maxLength: 100 },
            youtubeHandle: { type: ['string', 'null'], maxLength: 100 },
            homeCountry: { type: ['string', 'null'], maxLength: 100 },
            homeState: { type: ['string', 'null'], maxLength: 100 },
            homeCity: { type: ['string', 'null'], maxLength: 100 },
            homePostalCode: { type: ['string', 'null'], maxLength: 20 },
            homeAddress: { type: ['string', 'null'], maxLength: 500 },
          },
        },
      },
      required: ['id', 'body'],
      additionalProperties: false,
    },
  },
  {
    name: 'archiveAffiliate',
    group: 'affiliates',
    isOwner: false,
    method: 'DELETE',
    path: '/api/v1/affiliates',
    description:
      'Archive an affiliate\n\nThe affiliate is hidden from lists and earns no further commissions. Its data, discount code and past commissions are kept.\nWrites the audit record `affiliate.archived` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates',
    input: {
      type: 'object',
      properties: { id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'listAliases',
    group: 'affiliates',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/affiliates/aliases',
    description:
      "List aliases\n\nAll affiliates' additional codes and link names, including archived affiliates'. Newest first.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates/aliases',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        value: {
          type: 'string',
          minLength: 1,
          maxLength: 100,
          description: 'Only aliases that equal this text, compared as codes are.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'createAlias',
    group: 'affiliates',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/affiliates/aliases',
    description:
      "Create an alias for an affiliate\n\nAn alias works like the official name of its kind: an order with an additional code (`CODE`) or a visit with an additional link name\n(`LINK`) is credited like one with the affiliate's `discountCode` or `slug`. The order's explanation names the alias. Use aliases to keep another system's codes and links, such as `SARAH10`, which the discount code rules do not allow.\n\nA name belongs to one affiliate, including archived ones: an alias must not equal another affiliate's discount code, slug, or alias.\nNames are compared case-insensitively, in Unicode form NFKC and without invisible characters. An affiliate can have the same name\nas a code and as a link name. An alias that the affiliate already has is returned unchanged. An affiliate can have 100 aliases.\n\nWrites the audit record `alias.created` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates/aliases',
    input: {
      type: 'object',
      properties: {
        body: {
          type: 'object',
          required: ['affiliateId', 'kind', 'value'],
          additionalProperties: false,
          properties: {
            affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
            kind: {
              type: 'string',
              enum: ['CODE', 'LINK'],
              description:
                '`CODE`: an additional discount code. `LINK`: an additional link name, which works like the slug.',
            },
            value: {
              type: 'string',
              minLength: 1,
              maxLength: 100,
              pattern: '^\\S+$',
              description:
                'At most 100 characters (code points), none of them whitespace, a control character, an invisible format character or a direction mark. Unlike a discount code, it may contain `0`, `o` and `O`.',
            },
          },
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'deleteAlias',
    group: 'affiliates',
    isOwner: false,
    method: 'DELETE',
    path: '/api/v1/affiliates/aliases',
    description:
      'Delete an alias\n\nAny affiliate can then have the name. Recorded orders do not change.\nWrites the audit record `alias.deleted` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates/aliases',
    input: {
      type: 'object',
      properties: { id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'getAffiliateBalance',
    group: 'affiliates',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/affiliates/balance',
    description: "Get an affiliate's balance\n\nAn affiliate's unpaid earnings, by currency.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/affiliates/balance',
    input: {
      type: 'object',
      properties: { affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' } },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'listPrograms',
    group: 'programs',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/programs',
    description: 'List programs\n\nNewest first, each with its number of affiliates who are not archived.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/programs',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        status: { type: 'string', enum: ['DRAFT', 'PRIVATE', 'PUBLISH'] },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'createProgram',
    group: 'programs',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/programs',
    description:
      "Create a program\n\nThe first program of a shop becomes its default program.\n`commissionPercent` is a percentage (at most 100) for `PERCENT_OF_SALE` and an amount in units of the shop's currency for the flat types.\nWrites the audit record `program.created` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/programs',
    input: {
      type: 'object',
      properties: {
        body: {
          allOf: [
            {
              type: 'object',
              required: ['name'],
              additionalProperties: false,
              properties: {
                name: { type: 'string', minLength: 1, maxLength: 200, pattern: '\\S' },
                commissionType: {
                  type: 'string',
                  enum: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'],
                  description: 'Defaults to `PERCENT_OF_SALE`.',
                },
                commissionPercent: {
                  type: 'number',
                  description:
                    "A percentage with at most two decimals, or units of the shop's currency for the flat types, with at most the currency's decimals. Defaults to 16.",
                },
                cookieDurationDays: {
                  type: 'integer',
                  minimum: 0,
                  maximum: 3650,
                  description: 'How long a click counts. 0 disables link evidence. Defaults to 30.',
                },
                autoApproveAffiliate: { type: 'boolean', description: 'Defaults to false.' },
                autoApproveOrder: { type: 'boolean', description: 'Defaults to false.' },
                status: { type: 'string', enum: ['DRAFT', 'PRIVATE', 'PUBLISH'], description: 'Defaults to `DRAFT`.' },
                description: { type: ['string', 'null'], maxLength: 5000 },
              },
            },
            {
              anyOf: [
                {
                  type: 'object',
                  properties: {
                    commissionType: { type: 'string', const: 'PERCENT_OF_SALE' },
                    commissionPercent: {
                      type: 'number',
                      minimum: 0.01,
                      maximum: 100,
                      description: 'Must be above 0 and at most 100 for a percentage.',
                    },
                  },
                },
                {
                  type: 'object',
                  required: ['commissionType'],
                  properties: {
                    commissionType: { type: 'string', const: 'FLAT_PER_ORDER' },
                    commissionPercent: {
                      type: 'number',
                      minimum: 0.001,
                      maximum: 2147483647,
                      description: 'Must be above 0 and at most 2147483647 minor units for an amount.',
                    },
                  },
                },
                {
                  type: 'object',
                  required: ['commissionType'],
                  properties: {
                    commissionType: { type: 'string', const: 'FLAT_PER_ITEM' },
                    commissionPercent: {
                      type: 'number',
                      minimum: 0.001,
                      maximum: 2147483647,
                      description: 'Must be above 0 and at most 2147483647 minor units for an amount.',
                    },
                  },
                },
              ],
            },
          ],
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'updateProgram',
    group: 'programs',
    isOwner: false,
    method: 'PATCH',
    path: '/api/v1/programs',
    description:
      "Update a program\n\nSend only the fields to change. The result is validated as a whole. A new `commissionType` without `commissionPercent` converts a stored\npercentage to units of the shop's currency (16% becomes 16.00) and keeps a flat amount between flat types; from a flat type to a percentage, `commissionPercent` is required.\nRecorded commissions keep the rate they were recorded with.\nWrites the audit record `program.updated` in the same transaction.",
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/programs',
    input: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        body: {
          type: 'object',
          additionalProperties: false,
          properties: {
            name: { type: 'string', minLength: 1, maxLength: 200, pattern: '\\S' },
            commissionType: { type: 'string', enum: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'] },
            commissionPercent: {
              type: 'number',
              minimum: 0.001,
              maximum: 2147483647,
              description:
                "A percentage with at most two decimals, or units of the shop's currency for the flat types, with at most the currency's decimals.",
            },
            cookieDurationDays: { type: 'integer', minimum: 0, maximum: 3650 },
            autoApproveAffiliate: { type: 'boolean' },
            autoApproveOrder: { type: 'boolean' },
            status: { type: 'string', enum: ['DRAFT', 'PRIVATE', 'PUBLISH'] },
            lifetimeCommission: { type: 'boolean' },
            discountEnabled: { type: 'boolean' },
            discountType: { anyOf: [{ type: 'string', enum: ['PERCENT', 'FIXED'] }, { type: 'null' }] },
            discountValue: {
              type: ['number', 'null'],
              minimum: 0,
              maximum: 2147483647,
              description:
                "A percentage with at most two decimals for `PERCENT`, units of the shop's currency for `FIXED`, with at most its decimals.",
            },
            description: { type: ['string', 'null'], maxLength: 5000 },
          },
        },
      },
      required: ['id', 'body'],
      additionalProperties: false,
    },
  },
  {
    name: 'getProgramTerms',
    group: 'programs',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/programs/terms',
    description:
      "Get a program's terms\n\nReturns the current version, or an earlier one. Every program starts with version 1, which has no rules and pays the program's rate.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/programs/terms',
    input: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        version: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          description: 'This version instead of the current one.',
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'setProgramTerms',
    group: 'programs',
    isOwner: false,
    method: 'PUT',
    path: '/api/v1/programs/terms',
    description:
      "Set a program's terms\n\nCreates the next version of the terms, in force from now on. Sending the current terms again changes nothing. Versions never change, and recorded commissions keep theirs:\nan order is decided by the version in force when it happened or, with `appliesTo: CUSTOMERS`, by the one in force at its customer's first credited order.\nTo be sure that nobody else has changed the terms meanwhile, send the `version` that yours replaces.\n\nThe first matching rule applies. A rule without `commissionPercent` rejects the order with `TERMS_NOT_MET`; otherwise, product rules apply to their lines, then the rule, then the program's rate.\nWrites the audit record `program.terms_set` in the same transaction.",
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/programs/terms',
    input: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        body: {
          type: 'object',
          additionalProperties: false,
          properties: {
            version: {
              type: 'integer',
              minimum: 1,
              maximum: 2147483647,
              description: 'The version that this one replaces.',
            },
            holdDays: { type: 'integer', minimum: 0, maximum: 365, description: 'Defaults to 0.' },
            appliesTo: { type: 'string', enum: ['ORDERS', 'CUSTOMERS'], description: 'Defaults to `ORDERS`.' },
            rules: {
              type: 'array',
              maxItems: 20,
              items: {
                type: 'object',
                required: ['when', 'commissionPercent'],
                additionalProperties: false,
                properties: {
                  when: {
                    type: 'object',
                    additionalProperties: false,
                    properties: {
                      customerOrder: {
                        type: 'object',
                        additionalProperties: false,
                        properties: {
                          from: { type: 'integer', minimum: 1, maximum: 2147483647 },
                          to: { type: 'integer', minimum: 1, maximum: 2147483647 },
                        },
                        description: "Which of the customer's credited orders in the shop it is, from 1.",
                      },
                      customerMonth: {
                        type: 'object',
                        additionalProperties: false,
                        properties: {
                          from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                        },
                        description:
                          "Whole calendar months since the customer's first credited order, in the shop's time zone, from 0.",
                      },
                      affiliateIds: {
                        type: 'array',
                        minItems: 1,
                        maxItems: 200,
                        items: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
                      },
                      affiliateOrders: {
                        type: 'object',
                        required: ['period'],
                        additionalProperties: false,
                        properties: {
                          from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          period: {
                            type: 'string',
                            enum: ['MONTH', 'ALL_TIME'],
                            description: "`MONTH` is the order's calendar month in the shop's time zone.",
                          },
                        },
                      },
                      affiliateRevenueCents: {
                        type: 'object',
                        required: ['period'],
                        additionalProperties: false,
                        properties: {
                          from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          period: {
                            type: 'string',
                            enum: ['MONTH', 'ALL_TIME'],
                            description: "`MONTH` is the order's calendar month in the shop's time zone.",
                          },
                        },
                      },
                      orderSubtotalCents: {
                        type: 'object',
                        additionalProperties: false,
                        properties: {
                          from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                          to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                        },
                        description: "Goods before discount, in the shop's currency.",
                      },
                    },
                    description:
                      'All conditions that are set must hold. Bounds are inclusive. Orders count that were credited before this one, as known when it is recorded. Without a customer, an order is the first, in month 0.',
                  },
                  commissionPercent: {
                    anyOf: [
                      {
                        type: 'number',
                        minimum: 0.001,
                        maximum: 2147483647,
                        description:
                          "A percentage with at most two decimals, or units of the shop's currency for the flat types, with at most the currency's decimals.",
                      },
                      { type: 'null' },
                    ],
                    description:
                      "A percentage with at most two decimals, or units of the shop's currency for the flat types; null earns nothing.",
                  },
                  maxCommissionCents: {
                    type: 'integer',
                    minimum: 1,
                    maximum: 2147483647,
                    description: "The maximum that an order in the shop's currency earns, before tax.",
                  },
                },
              },
              description: 'None by default. At least one of `holdDays`, `appliesTo` and `rules` is required.',
            },
          },
        },
      },
      required: ['id', 'body'],
      additionalProperties: false,
    },
  },
  {
    name: 'listCommissions',
    group: 'commissions',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/commissions',
    description: 'List commissions\n\nNewest `happenedAt` first. Read-only; only the engine writes commissions.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        status: {
          type: 'string',
          enum: ['REJECTED', 'PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID', 'REVERSED', 'CANCELED', 'REFUNDED'],
          description: '`ACCEPTED` is reserved: it is handled like `APPROVED`, but this version does not set it.',
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        programId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        payoutBatchId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        externalOrderId: {
          type: 'string',
          minLength: 1,
          maxLength: 260,
          description:
            "Only this order's commission: your or the store's order ID (`x1`), or the stored one (`api:x1`), which takes precedence. Compared as in `ConversionEvent`.",
        },
        from: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        to: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'listPayouts',
    group: 'payouts',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/payouts',
    description:
      'List payout batches\n\nNewest first, with totals. Every call writes two audit records, `payouts.accessed` before it reads and `payouts.listed` when it is complete.\nIf either cannot be written, the call returns 503 without data.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/payouts',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        status: {
          type: 'string',
          enum: ['OPEN', 'PROCESSING', 'PAID', 'FAILED'],
          description:
            '`PROCESSING` while a batch of more than 500 commissions is being created, paid, or canceled. `progress` says how many commissions have moved. The request that started it responds when it is done; after a crash, the server completes it.',
        },
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        include: {
          type: 'string',
          enum: ['lines'],
          description: '`lines` adds one line per affiliate to every batch.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'createPayout',
    group: 'payouts',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/payouts',
    description:
      'Create a payout batch\n\nCreates a batch of every approved commission that is not in a batch and whose `happenedAt` is in the interval. Both bounds are inclusive instants.\nA date alone is midnight UTC, so a whole month is `2026-10-01` to `2026-10-31T23:59:59.999Z`.\nCommissions of archived or rejected affiliates are not included; `heldBack` counts them. With `includeEarlier`, approved commissions from before the interval\nthat are not in a batch are included too. Affiliates below `minimumAffiliatePayoutCentsByCurrency` are left out, and `GET /api/v1/payouts/unpaid` names them.\nWith `dryRun` the response is the batch that would be created, and nothing is written.\n\nThe batch starts `OPEN` and its commissions become `PAYABLE`. Writes the audit record `payout.created` in the same transaction.\nA large batch can take minutes, and is `PROCESSING` until then. A retry with the same `Idempotency-Key` waits for it and returns it.',
    retry: 'keyed',
    pathParameters: [],
    dryRun: 'body',
    read: '/api/v1/payouts',
    input: {
      type: 'object',
      properties: {
        body: {
          type: 'object',
          required: ['periodStart', 'periodEnd'],
          additionalProperties: false,
          properties: {
            periodStart: {
              type: 'string',
              maxLength: 40,
              pattern:
                '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
              description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
            },
            periodEnd: {
              type: 'string',
              maxLength: 40,
              pattern:
                '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
              description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
            },
            currency: {
              anyOf: [
                {
                  type: 'string',
                  pattern:
                    '^(AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|CLF|CLP|CNY|COP|COU|CRC|CUC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HRK|HTG|HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MXV|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SLL|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|USD|USN|UYI|UYU|UYW|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XCG|XOF|XPF|YER|ZAR|ZMW|ZWG|ZWL)$',
                  description: 'An ISO 4217 currency. Recently replaced currencies are accepted for earlier orders.',
                },
                { type: 'null' },
              ],
              description: 'Only commissions in this currency.',
            },
            affiliateIds: {
              type: ['array', 'null'],
              minItems: 1,
              maxItems: 1000,
              items: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
              description: 'Only commissions of these affiliates.',
            },
            programId: {
              type: ['string', 'null'],
              minLength: 1,
              maxLength: 64,
              description: 'Only commissions of this program.',
            },
            includeEarlier: {
              type: ['boolean', 'null'],
              description:
                'Also includes the commissions from before `periodStart` that are approved and not in a batch: commissions approved late, and commissions of affiliates\nthat were below `minimumAffiliatePayoutCentsByCurrency`. Defaults to false.',
            },
            dryRun: { type: ['boolean', 'null'], description: 'Defaults to false.' },
          },
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'payPayout',
    group: 'payouts',
    isOwner: false,
    method: 'PATCH',
    path: '/api/v1/payouts',
    description:
      'Mark a payout batch as paid\n\nMarks the batch and every commission in it as `PAID`. This cannot be undone. `expectedTotalCents` prevents paying a different total than the one you saw.\nWrites the audit record `payout.paid` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/payouts',
    input: {
      type: 'object',
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        action: { type: 'string', enum: ['pay'], description: 'The action. Must be `pay`.' },
        expectedTotalCents: {
          type: 'integer',
          minimum: -2147483647,
          maximum: 9007199254740991,
          description:
            'The `netPayableCents` you expect, including payments that were returned. A different total returns 409.',
        },
      },
      required: ['id', 'action', 'expectedTotalCents'],
      additionalProperties: false,
    },
  },
  {
    name: 'getUnpaid',
    group: 'payouts',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/payouts/unpaid',
    description:
      'List unpaid balances\n\nThe approved balances that a batch for the period does not pay, and why. Send the same period, `currency`, `programId`, and `includeEarlier` as for the batch. For a batch with several `affiliateIds`, send one request for each.\nBefore the batch is created, the list excludes what the batch would pay. Afterwards it contains what is left.\n\n`reasons` has one total per reason and currency. `affiliates` has the largest 100 balances; `truncated` is true when there are more.\nWrites the audit record `payouts.accessed`.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/payouts/unpaid',
    input: {
      type: 'object',
      properties: {
        periodStart: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        periodEnd: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        includeEarlier: {
          type: 'string',
          enum: ['1'],
          description: '`1` for a batch that includes earlier commissions.',
        },
        currency: {
          type: 'string',
          pattern:
            '^(AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|CLF|CLP|CNY|COP|COU|CRC|CUC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HRK|HTG|HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MXV|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SLL|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|USD|USN|UYI|UYU|UYW|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XCG|XOF|XPF|YER|ZAR|ZMW|ZWG|ZWL)$',
          description: 'An ISO 4217 currency. Recently replaced currencies are accepted for earlier orders.',
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        programId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
      },
      required: ['periodStart', 'periodEnd'],
      additionalProperties: false,
    },
  },
  {
    name: 'listCoupons',
    group: 'coupons',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/coupons',
    description:
      "List coupons\n\nEach affiliate's discount code with the program's discount, newest affiliate first. Archived affiliates are left out.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/coupons',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        code: {
          type: 'string',
          maxLength: 50,
          description: 'Only codes that contain this text, compared as in `CouponAssign`.',
        },
        status: { type: 'string', enum: ['PENDING', 'ACTIVE', 'APPROVED', 'REJECTED'] },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'assignCoupon',
    group: 'coupons',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/coupons',
    description:
      "Assign a discount code to an affiliate\n\nReplaces the affiliate's code. Without `code`, a code of 8 characters is generated. Assigning the current code changes nothing.\nCodes are unique in the shop, including archived affiliates. They are compared case-insensitively, in Unicode form NFKC and\nwithout invisible characters (Default_Ignorable_Code_Point). Look-alikes from other scripts are different codes.\nA code may equal the slug of another affiliate: orders with it are then credited to the affiliate with the code, and `warnings` reports it.\nWrites the audit record `coupon.assigned` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/coupons',
    input: {
      type: 'object',
      properties: {
        body: {
          type: 'object',
          required: ['affiliateId'],
          additionalProperties: false,
          properties: {
            affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
            code: {
              type: ['string', 'null'],
              minLength: 1,
              maxLength: 9,
              pattern: '^[^\\s0oO]+$',
              description:
                'At most 9 characters (code points, as sent), none of them whitespace, a blank Braille pattern, a control character, an invisible format character or a direction mark; none of `0`, `o` and `O`, not even in compatibility form (fullwidth `０`). Returned as sent. If omitted, a code is generated.',
            },
          },
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'getAnalytics',
    group: 'analytics',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/analytics',
    description:
      "Get a period's totals\n\nTotals, one row per day, and the ten affiliates who earned the most. Both bounds are inclusive; the default is the last 30 days.\nTotals are in one currency: `currency` selects it and defaults to the shop's, and `currencies` lists those in the period.\nThe newest 10,000 commissions are read; `truncated` is true when there are more. `page` and `limit` are accepted and ignored.\nTotals are exact: one above 9007199254740991 cents returns 409 `total_too_large`.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/analytics',
    input: {
      type: 'object',
      properties: {
        from: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        to: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        programId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        currency: {
          type: 'string',
          pattern:
            '^(AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|CLF|CLP|CNY|COP|COU|CRC|CUC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HRK|HTG|HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MXV|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SLL|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|USD|USN|UYI|UYU|UYW|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XCG|XOF|XPF|YER|ZAR|ZMW|ZWG|ZWL)$',
          description: 'An ISO 4217 currency. Recently replaced currencies are accepted for earlier orders.',
        },
        page: { description: 'Accepted with any value, and ignored.' },
        limit: { description: 'Accepted with any value, and ignored.' },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'getJourney',
    group: 'analytics',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/journey',
    description:
      'Get the journey of a session, an affiliate, or a customer\n\nClicks, page views and conversions in chronological order. Send at least one of `sessionId`, `affiliateId` and `customerEmail`; multiple filters are combined with AND.\nThe default is the last 90 days. When more entries match than `limit`, the latest are returned; `total` counts all.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/journey',
    input: {
      type: 'object',
      properties: {
        sessionId: { type: 'string', minLength: 1, maxLength: 255, description: "Your ID for the visitor's session." },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        customerEmail: {
          type: 'string',
          minLength: 1,
          maxLength: 320,
          description:
            "The customer's email address, compared as in `EmailInput`. A `+` may be sent unencoded, because an address has no spaces.",
        },
        from: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        to: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 500,
          default: 100,
          description: 'The maximum number of entries.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'listWebhooks',
    group: 'webhooks',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/webhooks',
    description:
      'List webhook subscriptions\n\nAll subscriptions of the shop, newest first. `available_events` are the names a subscription may filter on; `emitted_events` are those that every subscription can receive;\n`extended_events` are those that only subscriptions with `extendedEvents: true` receive.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/webhooks',
    input: { type: 'object', properties: {}, required: [], additionalProperties: false },
  },
  {
    name: 'createWebhook',
    group: 'webhooks',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/webhooks',
    description:
      "Subscribe to webhooks, or send a test event\n\nCreates a subscription. The URL must be public HTTPS; it is checked now and again before each delivery. `events` filters by name, and an empty list means all;\nany text is accepted, and unknown names receive nothing. The `secret` signs each delivery and is never returned.\n\nA shop has at most 100 subscriptions, and their event names at most 1 MiB in total, as JSON; beyond that the response is 409 `webhook_limit_reached`.\nDelivery is fair among shops. Each server sends at most 16 concurrent deliveries per subscription, 64 per shop and host, and 128 per shop. A subscription whose last response was\nincomplete receives one at a time, with a pause that doubles from 0.1 to 1 second, with 8 concurrent ones per shop.\nWrites the audit record `webhook.created`, without URL and secret, in the same transaction.\n\nBy default, each event is sent once (`retryPolicy: none`). With `retryPolicy: standard`, a delivery is attempted up to 8 times over about 28 hours. The 7 retries follow after 5 seconds, 5 minutes,\n30 minutes, 2, 5, 10 and 10 hours, each varied by up to 10 percent. A `Retry-After` header of up to a day can delay them. First attempts are started in order, up to 16 at a time, before\nretries, and a failure does not delay later events. A receiver that returns 410, or has had no successful delivery for 5 days, is disabled, with the audit record `webhook.disabled`: its deliveries fail with the code `disabled`, and it receives no events until an owner enables it.\n\nWith `extendedEvents: true`, the subscription can also receive the events of `extended_events`, and an empty `events` includes them.\n\nWith `?test=1`, no subscription is created and nothing is sent to the body's URL: a `test` event is sent to subscriptions to all events or to `test`.\nThe response is the same even if none match.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/webhooks',
    input: {
      type: 'object',
      properties: {
        test: { type: 'string', enum: ['1'], description: '`1` sends a test event instead of subscribing.' },
        body: {
          allOf: [
            {
              type: 'object',
              properties: {
                url: { type: ['string', 'null'], maxLength: 2048, description: 'A public HTTPS address. Required.' },
                hookUrl: { type: ['string', 'null'], maxLength: 2048 },
                target_url: { type: ['string', 'null'], maxLength: 2048 },
                events: {
                  type: ['array', 'null'],
                  items: { type: 'string' },
                  description: 'Event names to receive, any text. Omitted or empty means all.',
                },
                secret: {
                  type: ['string', 'null'],
                  maxLength: 500,
                  description: 'Signs each delivery. Without a secret the signature is empty.',
                },
                source: {
                  type: ['string', 'null'],
                  maxLength: 100,
                  description: "A label for the subscription's origin. Defaults to `api`.",
                },
                retryPolicy: {
                  type: ['string', 'null'],
                  enum: ['none', 'standard', null],
                  description: 'Whether failed deliveries are retried. Defaults to `none`.',
                },
                extendedEvents: {
                  type: ['boolean', 'null'],
                  description: 'Whether the events of `extended_events` are also sent. Defaults to false.',
                },
              },
            },
            {
              anyOf: [
                { type: 'object', required: ['url'], properties: { url: { type: 'string', pattern: '\\S' } } },
                { type: 'object', required: ['hookUrl'], properties: { hookUrl: { type: 'string', pattern: '\\S' } } },
                {
                  type: 'object',
                  required: ['target_url'],
                  properties: { target_url: { type: 'string', pattern: '\\S' } },
                },
              ],
            },
          ],
          description:
            '`hookUrl` and `target_url` are aliases of `url`; when several are sent, they must have the same value. Empty text counts as not sent. Unknown properties are ignored and listed in `X-Ignored-Properties`, unless the name is a property misspelled by letter case, `_` or `-`, or by one character.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'deleteWebhook',
    group: 'webhooks',
    isOwner: false,
    method: 'DELETE',
    path: '/api/v1/webhooks',
    description:
      'Delete a webhook subscription\n\nNo further deliveries are sent to it. Writes the audit record `webhook.deleted` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/webhooks',
    input: {
      type: 'object',
      properties: { id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'listWebhookEvents',
    group: 'webhooks',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/webhooks/events',
    description:
      "List events\n\nThe shop's events, oldest first, for callers that poll instead of receiving webhooks, or that catch up after their receiver was down. Events are listed in the order of the\nchanges that caused them, whether a subscription received them or not, and for 30 days. Each item has a webhook's content and the event's ID.\n\nStart without `after`, or with `latest` for the events from now on, and then send each response's `next` as `after`; it is null before the shop's first event. An event that is committed later is listed after all that were listed before.\nA page can have fewer events than `limit`, even none, while `hasMore` is true.\n\nIn addition to `webhooks:read`, an event requires the read scope of its resource: `affiliates:read`, `commissions:read` or `payouts:read`. Events without it are left out.\nThe events of `extended_events` are recorded while a subscription of the shop requests them, and are listed with `extendedEvents=1`.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/webhooks/events',
    input: {
      type: 'object',
      properties: {
        after: {
          type: 'string',
          pattern: '^(evt_[0-9A-HJKMNP-TV-Z]{26}|latest)$',
          description:
            'The list starts after the event with this ID. `latest` lists none; `next` is the ID of the newest event.',
        },
        extendedEvents: { type: 'string', enum: ['1'], description: '`1` also lists the events of `extended_events`.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          default: 100,
          description: 'The maximum number of events, 1 to 100.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'recordEvent',
    group: 'events',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/events',
    description:
      "Report an order, a click, or a page view\n\n**conversion** (the default): the engine decides which affiliate referred the order and what it earns. The decision is recorded once per order.\n`Idempotency-Key` is required. An order that is already recorded returns 201 with the recorded decision and `X-Order-Already-Recorded: true`, and nothing changes; if its amounts differ from the recorded ones, the response has `X-Order-Differs: true`.\nA recorded commission sends `commission.created` and writes the audit record `commission.created` in the same transaction.\n\nWith `?dryRun=1` the response is 200 with the decision and its trace; nothing is written and no key is required.\n\n**click** and **page_view**: stored for the customer's journey and as evidence for later orders. The response is 202 once they are on disk.\nAn unknown `ref` is stored too. Send a click's `id` as the order's `clickId`. Both are safe to retry after a 503.\n\nA click ID belongs to the affiliate that it was first recorded with. A later click with the same ID and another affiliate is stored under the response's `id` instead. Orders with the click ID\nare still credited to the first affiliate. IDs are compared exactly and are scoped to the shop.\nA click with `occurredAt` in the future gets the time of receipt, and so does a page view up to 5 minutes ahead; a page view further ahead is rejected.\n\nUnknown properties are ignored and listed in `X-Ignored-Properties`, unless the name is a property misspelled by letter case, `_` or `-`,\nor by one character: `discount_cents` returns 400 `unknown_property`. `orderId` is an alias of `externalOrderId` and `processedAt` of `occurredAt`;\nwhen both are sent, they must have the same value. Empty text in these fields or in a field of evidence counts as not sent.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: 'query',
    read: '/api/v1/events',
    input: {
      type: 'object',
      properties: {
        body: {
          anyOf: [
            {
              allOf: [
                {
                  type: 'object',
                  properties: {
                    type: { type: 'string', const: 'conversion', description: 'Defaults to `conversion`.' },
                    externalOrderId: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description:
                        'Your order ID. Required; `orderId` is its alias. IDs are compared in Unicode form NFC, without whitespace at the start, at the end, and after a leading `#`, and without invisible characters (Default_Ignorable_Code_Point). Case-sensitive. Returned as first sent.',
                    },
                    orderId: { type: ['string', 'null'], maxLength: 255, description: 'Alias of `externalOrderId`.' },
                    amountCents: {
                      type: ['integer', 'null'],
                      minimum: 0,
                      maximum: 2147483647,
                      description:
                        'The goods before discount, shipping and tax. `0` is accepted, for a free order: a percentage earns nothing (`ZERO_BASE`), a flat rate its amount.',
                    },
                    discountCents: {
                      type: ['integer', 'null'],
                      minimum: 0,
                      maximum: 2147483647,
                      description: 'A discount above the goods is accepted and counts as much as the goods.',
                    },
                    shippingCents: { type: ['integer', 'null'], minimum: 0, maximum: 2147483647 },
                    taxCents: { type: ['integer', 'null'], minimum: 0, maximum: 2147483647 },
                    currency: {
                      anyOf: [
                        {
                          type: 'string',
                          pattern:
                            '^(AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|CLF|CLP|CNY|COP|COU|CRC|CUC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HRK|HTG|HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MXV|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SLL|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|USD|USN|UYI|UYU|UYW|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XCG|XOF|XPF|YER|ZAR|ZMW|ZWG|ZWL)$',
                          description:
                            'An ISO 4217 currency. Recently replaced currencies are accepted for earlier orders.',
                        },
                        { type: 'null' },
                      ],
                      description: 'Defaults to `USD`.',
                    },
                    couponCode: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description:
                        "Evidence `COUPON`: a discount code, else an affiliate's slug, compared as in `CouponAssign`.",
                    },
                    affiliateCode: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description: 'Evidence `COUPON`, resolved like `couponCode`.',
                    },
                    ref: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description: "The affiliate's slug or ID. Evidence `DIRECT_LINK`.",
                    },
                    clickId: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description:
                        "The ID of a reported click: its response's `id`, or the `clickId` you sent with it. Evidence `DIRECT_LINK`.",
                    },
                    sessionId: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description:
                        'Clicks of this session are evidence `DIRECT_LINK`. The last valid one wins, or the first if the setting `clickTouch` is `FIRST`.',
                    },
                    customerEmail: {
                      type: ['string', 'null'],
                      maxLength: 320,
                      description: 'Evidence `CONNECTED_CUSTOMER`. Compared as in `EmailInput`.',
                    },
                    customerId: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description: 'Evidence `CONNECTED_CUSTOMER`.',
                    },
                    lineItems: {
                      type: ['array', 'null'],
                      maxItems: 1000,
                      items: {
                        type: 'object',
                        properties: {
                          id: {
                            type: ['string', 'null'],
                            maxLength: 255,
                            description: 'Your ID for the line, which refunds may name.',
                          },
                          productId: {
                            type: ['string', 'null'],
                            maxLength: 255,
                            description: 'The numeric product ID as text. A `gid://` ID matches nothing.',
                          },
                          variantId: {
                            type: ['string', 'null'],
                            maxLength: 255,
                            description: 'The numeric variant ID as text.',
                          },
                          quantity: {
                            type: ['integer', 'null'],
                            minimum: 1,
                            maximum: 1000000,
                            description: 'Defaults to 1.',
                          },
                          priceCents: {
                            type: ['integer', 'null'],
                            minimum: 0,
                            maximum: 2147483647,
                            description: 'The unit price.',
                          },
                          discountCents: {
                            type: ['integer', 'null'],
                            minimum: 0,
                            maximum: 2147483647,
                            description:
                              "The discount on this line, for all of its units; at most its total counts. Part of the order's `discountCents`, which defaults to their total; what they leave of it is shared by all lines pro rata.",
                          },
                          title: { type: ['string', 'null'], maxLength: 1000 },
                          sku: { type: ['string', 'null'], maxLength: 255 },
                        },
                      },
                      description:
                        'Evidence `CONNECTED_PRODUCT`. All lines together have at most 1,000,000 units and, without `amountCents`, cost at most 2147483647 cents.',
                    },
                    shipping: {
                      type: ['object', 'null'],
                      properties: {
                        country: { type: ['string', 'null'], maxLength: 100 },
                        state: { type: ['string', 'null'], maxLength: 100 },
                        city: { type: ['string', 'null'], maxLength: 100 },
                        postalCode: { type: ['string', 'null'], maxLength: 20 },
                      },
                      description: 'The shipping address, for programs with a geo rule.',
                    },
                    occurredAt: {
                      type: ['string', 'null'],
                      maxLength: 40,
                      pattern:
                        '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                      description: 'When the order was placed. Defaults to now. `processedAt` is its alias.',
                    },
                    processedAt: {
                      type: ['string', 'null'],
                      maxLength: 40,
                      pattern:
                        '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                      description:
                        'Must be an ISO 8601 date (2026-10-31) or a timestamp with an offset (2026-10-31T23:59:59.999Z).',
                    },
                    orderName: { type: ['string', 'null'], maxLength: 255 },
                    note: { type: ['string', 'null'], maxLength: 10000 },
                    noteAttributes: {
                      type: ['array', 'null'],
                      maxItems: 200,
                      items: {
                        type: 'object',
                        properties: {
                          name: { type: ['string', 'null'], maxLength: 255 },
                          value: { type: ['string', 'number', 'boolean', 'null'] },
                        },
                      },
                      description: 'An attribute named `referral_click_id` is used as `clickId`.',
                    },
                  },
                },
                {
                  anyOf: [
                    {
                      type: 'object',
                      required: ['externalOrderId'],
                      properties: { externalOrderId: { type: 'string', pattern: '\\S' } },
                    },
                    {
                      type: 'object',
                      required: ['orderId'],
                      properties: { orderId: { type: 'string', pattern: '\\S' } },
                    },
                  ],
                },
                {
                  anyOf: [
                    { type: 'object', required: ['amountCents'], properties: { amountCents: { type: 'integer' } } },
                    {
                      type: 'object',
                      required: ['lineItems'],
                      properties: {
                        lineItems: {
                          type: 'array',
                          minItems: 1,
                          items: {
                            type: 'object',
                            required: ['priceCents'],
                            properties: { priceCents: { type: 'integer' } },
                          },
                        },
                      },
                    },
                  ],
                },
              ],
              description:
                'An order. `externalOrderId` is required, and `amountCents` unless every line item has a price.',
            },
            {
              allOf: [
                {
                  type: 'object',
                  required: ['type'],
                  properties: {
                    type: { type: 'string', const: 'click' },
                    ref: { type: ['string', 'null'], maxLength: 255 },
                    affiliateCode: { type: ['string', 'null'], maxLength: 255 },
                    affiliateId: { type: ['string', 'null'], maxLength: 64 },
                    clickId: {
                      type: ['string', 'null'],
                      maxLength: 255,
                      description:
                        "Your own ID for the click. Defaults to the response's `id`. It belongs to the affiliate it first named; a click on another affiliate is stored under the response's `id`.",
                    },
                    sessionId: { type: ['string', 'null'], maxLength: 255 },
                    url: { type: ['string', 'null'], maxLength: 4096 },
                    landingPage: { type: ['string', 'null'], maxLength: 4096 },
                    referrerUrl: { type: ['string', 'null'], maxLength: 4096 },
                    utmSource: { type: ['string', 'null'], maxLength: 255 },
                    utmMedium: { type: ['string', 'null'], maxLength: 255 },
                    utmCampaign: { type: ['string', 'null'], maxLength: 255 },
                    utmTerm: { type: ['string', 'null'], maxLength: 255 },
                    utmContent: { type: ['string', 'null'], maxLength: 255 },
                    country: { type: ['string', 'null'], maxLength: 100 },
                    device: { type: ['string', 'null'], maxLength: 100 },
                    customerEmail: { type: ['string', 'null'], maxLength: 320 },
                    customerId: { type: ['string', 'null'], maxLength: 255 },
                    occurredAt: {
                      type: ['string', 'null'],
                      maxLength: 40,
                      pattern:
                        '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                      description: 'Defaults to the time of receipt, which also replaces a time in the future.',
                    },
                  },
                },
                {
                  anyOf: [
                    { type: 'object', required: ['ref'], properties: { ref: { type: 'string', pattern: '\\S' } } },
                    {
                      type: 'object',
                      required: ['affiliateCode'],
                      properties: { affiliateCode: { type: 'string', pattern: '\\S' } },
                    },
                    {
                      type: 'object',
                      required: ['affiliateId'],
                      properties: { affiliateId: { type: 'string', pattern: '\\S' } },
                    },
                    {
                      type: 'object',
                      required: ['clickId'],
                      properties: { clickId: { type: 'string', pattern: '\\S' } },
                    },
                  ],
                },
              ],
              description:
                "A click on an affiliate's link. One of `ref`, `affiliateCode`, `affiliateId` and `clickId` is required.",
            },
            {
              type: 'object',
              required: ['type', 'url'],
              properties: {
                type: { type: 'string', const: 'page_view' },
                url: { type: 'string', minLength: 1, maxLength: 4096, pattern: '\\S' },
                ref: { type: ['string', 'null'], maxLength: 255 },
                affiliateCode: { type: ['string', 'null'], maxLength: 255 },
                affiliateId: { type: ['string', 'null'], maxLength: 64 },
                clickId: { type: ['string', 'null'], maxLength: 255 },
                sessionId: { type: ['string', 'null'], maxLength: 255 },
                landingPage: { type: ['string', 'null'], maxLength: 4096 },
                referrerUrl: { type: ['string', 'null'], maxLength: 4096 },
                utmSource: { type: ['string', 'null'], maxLength: 255 },
                utmMedium: { type: ['string', 'null'], maxLength: 255 },
                utmCampaign: { type: ['string', 'null'], maxLength: 255 },
                utmTerm: { type: ['string', 'null'], maxLength: 255 },
                utmContent: { type: ['string', 'null'], maxLength: 255 },
                country: { type: ['string', 'null'], maxLength: 100 },
                device: { type: ['string', 'null'], maxLength: 100 },
                customerEmail: { type: ['string', 'null'], maxLength: 320 },
                customerId: { type: ['string', 'null'], maxLength: 255 },
                occurredAt: {
                  type: ['string', 'null'],
                  maxLength: 40,
                  pattern:
                    '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                  description:
                    'Defaults to the time of receipt, which also replaces a time up to 5 minutes in the future. Later times are rejected.',
                },
              },
              description: 'A page view.',
            },
          ],
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'listCustomers',
    group: 'customers',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/customers',
    description:
      'List customers\n\nThe customers who signed up, were bound to an affiliate, or have an order that an affiliate was credited for, newest first.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/customers',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        after: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description:
            "A cursor: an item's ID (for coupons, its `affiliateId`). The page starts after it. To read a long list, send the ID of the last item of each page until a page has fewer items than `limit`. Every page costs the same, and no item is skipped or repeated when others are added. Cannot be combined with a `page` above 1; `total` and `totalPages` still count the whole list.",
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        programId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        customerId: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          description: 'Only the customer with this ID of yours.',
        },
        customerEmail: {
          type: 'string',
          minLength: 1,
          maxLength: 320,
          description:
            'Only the customer with this email address, compared as in `EmailInput`. A `+` may be sent unencoded.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'createCustomer',
    group: 'customers',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/customers',
    description:
      "Report a customer who signed up\n\nBinds the customer to the affiliate that the evidence names, so that the customer's later orders are credited to the affiliate without a code or link.\nA customer is identified by `customerId`, or by `customerEmail` if there is none. Only a keyed hash of the address is stored. If the two belong to different customers, `customerId` takes precedence, and nothing is merged. Otherwise a report with both, or a credited order, adds the one that the customer lacks.\n\nThe first binding is kept: for a bound customer the response is 200 with the header `X-Customer-Already-Bound: true`, and nothing changes.\nThe evidence is the same as for a conversion: `couponCode` or `affiliateCode` before `clickId`, `ref`, and `sessionId`, unless the shop's precedence says otherwise. A click counts within the program's window.\nIf no evidence matches, the affiliate is archived or `REJECTED`, or the address is the affiliate's own, the customer is stored unbound: `attribution.reasonCode` is the reason, and a later report can bind the customer. A `PENDING` affiliate is bound.\n\nTo move customers from another service, also send that service's counts as `orders` and `firstOrderAt`. With `?dryRun=1` nothing is written, and the status is always 200.\n\nWrites the audit record `customer.bound`, or `customer.created` when nobody is bound, in the same transaction. Sends `customer.bound`.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: 'query',
    read: '/api/v1/customers',
    input: {
      type: 'object',
      properties: {
        body: {
          allOf: [
            {
              type: 'object',
              additionalProperties: false,
              properties: {
                customerId: { type: ['string', 'null'], maxLength: 255 },
                customerEmail: {
                  type: ['string', 'null'],
                  maxLength: 320,
                  description: 'Compared as in `EmailInput`.',
                },
                couponCode: { type: ['string', 'null'], maxLength: 255 },
                affiliateCode: { type: ['string', 'null'], maxLength: 255 },
                ref: { type: ['string', 'null'], maxLength: 255 },
                clickId: { type: ['string', 'null'], maxLength: 255 },
                sessionId: { type: ['string', 'null'], maxLength: 255 },
                occurredAt: {
                  type: ['string', 'null'],
                  maxLength: 40,
                  pattern:
                    '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                  description:
                    'When the customer signed up; defaults to the time of receipt. At most 5 minutes in the future.',
                },
                orders: {
                  type: ['integer', 'null'],
                  minimum: 0,
                  maximum: 1000000,
                  description:
                    'For an import: how many orders the customer has made so far. They are counted once, by the report that binds the customer.',
                },
                firstOrderAt: {
                  type: ['string', 'null'],
                  maxLength: 40,
                  pattern:
                    '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                  description:
                    'For an import: when the first of these orders was made. Required with `orders` above 0.',
                },
              },
            },
            {
              anyOf: [
                {
                  type: 'object',
                  required: ['customerId'],
                  properties: { customerId: { type: 'string', pattern: '\\S' } },
                },
                {
                  type: 'object',
                  required: ['customerEmail'],
                  properties: { customerEmail: { type: 'string', pattern: '\\S' } },
                },
              ],
            },
          ],
          description: 'A customer, and evidence of who referred them. Requires `customerId` or `customerEmail`.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'unbindCustomer',
    group: 'customers',
    isOwner: false,
    method: 'DELETE',
    path: '/api/v1/customers',
    description:
      "Unbind a customer\n\nThe customer's later orders need other evidence, and a later report can bind the customer again. Recorded commissions are kept. Unbinding a customer who is not bound changes nothing.\nWrites the audit record `customer.unbound` in the same transaction.",
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/customers',
    input: {
      type: 'object',
      properties: { id: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'listOrders',
    group: 'orders',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/orders',
    description:
      'List orders\n\nEvery order that was reported, by the API or by a store, newest `happenedAt` first. An order that is not in the list was never reported. If no affiliate was credited, `commissionId` is null, and `attribution.reasonCode` says why.',
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/orders',
    input: {
      type: 'object',
      properties: {
        page: {
          type: 'integer',
          minimum: 1,
          maximum: 2147483647,
          default: 1,
          description: 'The page, counted from 1.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'The number of rows per page.' },
        externalOrderId: {
          type: 'string',
          minLength: 1,
          maxLength: 260,
          description:
            "Only orders with this ID or name: the stored order ID (`api:1000`), your own (`1000`), or the order's name in the store (`#1000`), in this precedence. Compared as in `ConversionEvent`. Orders of several sources can have the same ID, and several orders the same name.",
        },
        affiliateId: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
        credited: {
          type: 'string',
          enum: ['true', 'false'],
          description:
            '`true`: only orders that an affiliate was credited for, even if a restriction leaves no commission. `false`: only those that nobody was credited for.',
        },
        from: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
        to: {
          type: 'string',
          maxLength: 40,
          pattern:
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$',
          description: 'ISO 8601. A date alone is midnight UTC; a timestamp needs an offset.',
        },
      },
      required: [],
      additionalProperties: false,
    },
  },
  {
    name: 'getOrderExplanation',
    group: 'orders',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/orders/explanation',
    description:
      "Explain the decision about an order\n\nFor every reported order, credited or not: every piece of evidence and why it won or lost, the restriction on the winner, and the\ncalculation line by line, with refunds. This is what owners get from `explainOrder`, without the customer's ID and address.\nAn order that was never reported is 404 `order_not_found`; one that nobody was credited for has the outcome `NOBODY`.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/orders/explanation',
    input: {
      type: 'object',
      properties: {
        externalOrderId: {
          type: 'string',
          minLength: 1,
          maxLength: 260,
          description:
            "The stored order ID (`api:1000`), your own (`1000`), or the order's name in the store (`#1000`), in this precedence. Compared as in `ConversionEvent`.",
        },
      },
      required: ['externalOrderId'],
      additionalProperties: false,
    },
  },
  {
    name: 'reportRefund',
    group: 'refunds',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/refunds',
    description:
      "Report a refund of an order\n\nFor orders reported as conversions, before or after the order, as often as needed. A refund reduces its order's commission to what the remaining goods earn at the recorded rate.\nOnce the commission is paid, the difference becomes a negative row with `orderId` `adj:<commission id>:<externalRefundId>`, which the next payout nets.\n\nThe response is 200 when the order was reported, and 202 when it was not: the refund is stored, and applied in the transaction that records the order. That order's 201 and `commission.created` contain the original decision.\nAn order that no affiliate was credited for keeps its refunds until a later report of it is credited (200, `outcome: noted`). Reporting a refund ID again for the order changes nothing, with any key; `warning` says if its amount or line items differ. A refund that exceeds what is left takes what is left, because it has already happened; `warning` says so. Amounts are in the order's currency. A refund in another currency is rejected once the order is known, and never applied.\nA connected store reports its own refunds. With `?dryRun=1` nothing is written, and the status is always 200.\n\nWrites the audit record `commission.refunded` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: 'query',
    read: '/api/v1/refunds',
    input: {
      type: 'object',
      properties: {
        body: {
          allOf: [
            {
              type: 'object',
              required: ['externalOrderId', 'externalRefundId'],
              additionalProperties: false,
              properties: {
                externalOrderId: {
                  type: 'string',
                  maxLength: 255,
                  pattern: '\\S',
                  description: 'The ID that the order is reported with, compared as in `ConversionEvent`.',
                },
                externalRefundId: {
                  type: 'string',
                  maxLength: 255,
                  pattern: '\\S',
                  description:
                    'Your ID for the refund, unique for the order and compared like an order ID. `reversal`, `carry` and IDs that end with `:canceled` are reserved.',
                },
                amountCents: {
                  type: ['integer', 'null'],
                  minimum: 0,
                  maximum: 2147483647,
                  description: "Refunded goods net of discount, without shipping and tax, in the order's currency.",
                },
                lineItems: {
                  type: ['array', 'null'],
                  maxItems: 1000,
                  items: {
                    allOf: [
                      {
                        type: 'object',
                        required: ['quantity'],
                        additionalProperties: false,
                        properties: {
                          id: {
                            type: ['string', 'null'],
                            minLength: 1,
                            maxLength: 255,
                            description: "The `id` of the order's line.",
                          },
                          variantId: { type: ['string', 'null'], minLength: 1, maxLength: 255 },
                          productId: { type: ['string', 'null'], minLength: 1, maxLength: 255 },
                          quantity: { type: 'integer', minimum: 1, maximum: 1000000 },
                          amountCents: {
                            type: ['integer', 'null'],
                            minimum: 0,
                            maximum: 2147483647,
                            description:
                              "The amount refunded for the units, net of discount, without tax. At most what is left of the line counts. Defaults to their share of the line's price.",
                          },
                        },
                      },
                      {
                        anyOf: [
                          { type: 'object', required: ['id'], properties: { id: { type: 'string', minLength: 1 } } },
                          {
                            type: 'object',
                            required: ['variantId'],
                            properties: { variantId: { type: 'string', minLength: 1 } },
                          },
                          {
                            type: 'object',
                            required: ['productId'],
                            properties: { productId: { type: 'string', minLength: 1 } },
                          },
                        ],
                      },
                    ],
                    description:
                      "Returned units. One of the IDs is required; the line's `id` takes precedence, then `variantId`.",
                  },
                  description:
                    'The returned units, which count at their sale price, or at `amountCents`. A line is found by its `id`, else by `variantId`, else by `productId`; when several lines of the order have the same product, send the `id` or `variantId`.',
                },
                currency: {
                  anyOf: [
                    {
                      type: 'string',
                      pattern:
                        '^(AED|AFN|ALL|AMD|ANG|AOA|ARS|AUD|AWG|AZN|BAM|BBD|BDT|BGN|BHD|BIF|BMD|BND|BOB|BRL|BSD|BTN|BWP|BYN|BZD|CAD|CDF|CHF|CLF|CLP|CNY|COP|COU|CRC|CUC|CUP|CVE|CZK|DJF|DKK|DOP|DZD|EGP|ERN|ETB|EUR|FJD|FKP|GBP|GEL|GHS|GIP|GMD|GNF|GTQ|GYD|HKD|HNL|HRK|HTG|HUF|IDR|ILS|INR|IQD|IRR|ISK|JMD|JOD|JPY|KES|KGS|KHR|KMF|KPW|KRW|KWD|KYD|KZT|LAK|LBP|LKR|LRD|LSL|LYD|MAD|MDL|MGA|MKD|MMK|MNT|MOP|MRU|MUR|MVR|MWK|MXN|MXV|MYR|MZN|NAD|NGN|NIO|NOK|NPR|NZD|OMR|PAB|PEN|PGK|PHP|PKR|PLN|PYG|QAR|RON|RSD|RUB|RWF|SAR|SBD|SCR|SDG|SEK|SGD|SHP|SLE|SLL|SOS|SRD|SSP|STN|SVC|SYP|SZL|THB|TJS|TMT|TND|TOP|TRY|TTD|TWD|TZS|UAH|UGX|USD|USN|UYI|UYU|UYW|UZS|VED|VES|VND|VUV|WST|XAF|XCD|XCG|XOF|XPF|YER|ZAR|ZMW|ZWG|ZWL)$',
                      description:
                        'An ISO 4217 currency. Recently replaced currencies are accepted for earlier orders.',
                    },
                    { type: 'null' },
                  ],
                  description: "Defaults to the order's currency; another one is rejected.",
                },
                reason: { type: ['string', 'null'], maxLength: 1000 },
                occurredAt: {
                  type: ['string', 'null'],
                  maxLength: 40,
                  pattern:
                    '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
                  description:
                    'When the goods were refunded; defaults to the time of receipt. Statements list the refund of an unpaid commission at this time. At most 5 minutes in the future.',
                },
              },
            },
            {
              anyOf: [
                { type: 'object', required: ['amountCents'], properties: { amountCents: { type: 'integer' } } },
                {
                  type: 'object',
                  required: ['lineItems'],
                  properties: { lineItems: { type: 'array', minItems: 1, items: {} } },
                },
              ],
            },
          ],
          description:
            'Refunded goods of an order. Requires either `amountCents` or `lineItems`; the value of an item is its `amountCents`.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'cancelRefund',
    group: 'refunds',
    isOwner: false,
    method: 'DELETE',
    path: '/api/v1/refunds',
    description:
      'Cancel a refund\n\nFor a refund that did not go through, such as a failed refund or a won dispute. An unpaid commission gets the amount and the status that it would have without the refund.\nA paid commission gets a positive row with `orderId` `adj:<commission id>:<externalRefundId>:canceled`, which the next payout includes; the negative row of the refund stays.\n\nThe response is 200 when the refund was reported, and 202 when the refund or its order was not: the cancellation is stored, and the refund then changes nothing. The result is the same in any order of arrival.\nRepeating it changes nothing. A canceled refund cannot be reported again: use another ID.\n\nWrites the audit record `commission.refunded` with the ID `<externalRefundId>:canceled` in the same transaction.',
    retry: 'repeatable',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/refunds',
    input: {
      type: 'object',
      properties: {
        externalOrderId: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          pattern: '\\S',
          description: 'The order, as reported with the refund.',
        },
        externalRefundId: {
          type: 'string',
          minLength: 1,
          maxLength: 255,
          pattern: '\\S',
          description: 'The refund, as in its report.',
        },
      },
      required: ['externalOrderId', 'externalRefundId'],
      additionalProperties: false,
    },
  },
  {
    name: 'reportCancellation',
    group: 'refunds',
    isOwner: false,
    method: 'POST',
    path: '/api/v1/cancellations',
    description:
      "Report that an order was canceled\n\nFor orders reported as conversions that were canceled as a whole. An unpaid commission becomes `CANCELED`; a paid one becomes `REVERSED`, and the part that refunds have not taken back becomes a negative row, which the next payout nets.\n\nThe response is 200 when the order was reported, and 202 when it was not: the cancellation is stored, and applied in the transaction that records the order. That order's 201 and `commission.created` contain the original decision.\nAn order that no affiliate was credited for keeps its cancellation until a later report of it is credited (200, `outcome: noted`). Repeating a cancellation changes nothing.\nA connected store reports its own cancellations. With `?dryRun=1` nothing is written, and the status is always 200.\n\nWrites the audit record `commission.canceled` or `commission.reversed` in the same transaction.",
    retry: 'keyed',
    pathParameters: [],
    dryRun: 'query',
    read: '/api/v1/refunds',
    input: {
      type: 'object',
      properties: {
        body: {
          type: 'object',
          required: ['externalOrderId'],
          additionalProperties: false,
          properties: {
            externalOrderId: {
              type: 'string',
              maxLength: 255,
              pattern: '\\S',
              description: 'The ID that the order is reported with, compared as in `ConversionEvent`.',
            },
            reason: { type: ['string', 'null'], maxLength: 1000 },
            occurredAt: {
              type: ['string', 'null'],
              maxLength: 40,
              pattern:
                '^([0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?)?$',
              description:
                'When the order was canceled; defaults to the time of receipt. At most 5 minutes in the future.',
            },
          },
          description: 'An order that was canceled as a whole.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
  {
    name: 'getShopInfo',
    group: 'shop',
    isOwner: false,
    method: 'GET',
    path: '/api/v1/shop',
    description:
      "Get the shop\n\nThe API key's shop, and what clients need to build periods and amounts. Any valid key can call it; no scope is needed. `timeZone` applies to months in the CLI and the dashboard. The API itself takes instants.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/shop',
    input: { type: 'object', properties: {}, required: [], additionalProperties: false },
  },
  {
    name: 'approveCommission',
    group: 'commissions',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/commissions/{id}/approve',
    description:
      'Approve a commission\n\nA `PENDING` commission becomes `APPROVED`, which makes it eligible for the next payout batch.\n\nWrites the audit record `commission.approved` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The commission.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'rejectCommission',
    group: 'commissions',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/commissions/{id}/reject',
    description:
      'Reject a commission\n\nA commission that is not in a batch becomes `REJECTED`. It can be reopened.\n\nWrites the audit record `commission.rejected` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The commission.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'cancelCommission',
    group: 'commissions',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/commissions/{id}/cancel',
    description:
      'Cancel a commission\n\nAn unpaid commission becomes `CANCELED`, permanently. It is removed from its payout batch, whose totals are updated; an empty batch becomes `FAILED`.\n\nWrites the audit record `commission.canceled` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The commission.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'reverseCommission',
    group: 'commissions',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/commissions/{id}/reverse',
    description:
      'Reverse a paid commission\n\nA `PAID` commission becomes `REVERSED`. Its amount after refunds is clawed back by a negative row with `orderId` `adj:<commission id>:reversal`, which is netted in the next payout batch.\n\nWrites the audit record `commission.reversed` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The commission.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'reopenCommission',
    group: 'commissions',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/commissions/{id}/reopen',
    description:
      'Reopen a rejected commission\n\nThe order is re-evaluated from its stored facts and the current statuses of its affiliates, for example after a pending affiliate was approved;\nrates and evidence stay as recorded. The commission becomes `PENDING`, even if its program auto-approves orders. Earlier refunds still apply.\n\nWrites the audit record `commission.reopened` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/commissions',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The commission.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'cancelPayout',
    group: 'payouts',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/payouts/{id}/cancel',
    description:
      'Cancel a payout batch\n\nReleases the commissions of an `OPEN` or `FAILED` batch: they become `APPROVED` and eligible for another batch. The batch becomes `FAILED`.\n\nA batch with sent payments can be canceled only while other payments are unsent and every sent one is `RETURNED`; when all payments are\n`SETTLED` or `RETURNED`, the batch is `PAID`. The commissions of returned payments stay `PAID` and in the batch, because the returned amount is already payable again.\n\nWrites the audit record `payout.canceled` in the same transaction.',
    retry: 'repeatable',
    pathParameters: ['id'],
    dryRun: null,
    read: '/api/v1/payouts',
    input: {
      type: 'object',
      properties: { id: { type: 'string', description: 'The payout batch.' } },
      required: ['id'],
      additionalProperties: false,
    },
  },
  {
    name: 'runBacktest',
    group: 'backtests',
    isOwner: true,
    method: 'POST',
    path: '/admin/v1/backtests',
    description:
      "Backtest other settings on past orders\n\nDecides a period's stored orders again with a different precedence, click touch, window or rate, and returns which affiliates would have earned more or less.\nThe newest 10,000 orders are included. Amounts are as decided, before moderation and refunds. Effects of a changed decision on later orders,\nthrough customer connections, are not simulated. No order or commission is changed.\n\nWrites only the audit record `backtest.ran`.",
    retry: 'safe',
    pathParameters: [],
    dryRun: null,
    read: '/api/v1/backtests',
    input: {
      type: 'object',
      properties: {
        body: {
          allOf: [
            {
              type: 'object',
              additionalProperties: false,
              properties: {
                from: { type: ['string', 'null'], maxLength: 40, description: 'The first order, inclusive.' },
                to: { type: ['string', 'null'], maxLength: 40, description: 'The last order, inclusive.' },
                attributionPrecedence: {
                  anyOf: [
                    {
                      type: 'string',
                      enum: ['default', 'link-first', 'customer-first'],
                      description:
                        'Must be default, link-first, customer-first or a list of all four kinds of evidence.',
                    },
                    {
                      type: 'array',
                      minItems: 4,
                      maxItems: 4,
                      items: {
                        type: 'string',
                        enum: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
                        description: 'The kind of evidence that named the affiliate.',
                      },
                    },
                  ],
                },
                clickTouch: { type: 'string', enum: ['LAST', 'FIRST'] },
                programId: { type: ['string', 'null'], minLength: 1, maxLength: 64 },
                cookieDurationDays: { type: 'integer', minimum: 0, maximum: 3650 },
                commissionType: { type: 'string', enum: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'] },
                commissionPercent: {
                  type: 'number',
                  minimum: 0.001,
                  maximum: 2147483647,
                  description:
                    "A percentage with at most two decimals, or units of the shop's currency for the flat types, with at most the currency's decimals.",
                },
                rules: {
                  type: 'array',
                  maxItems: 20,
                  items: {
                    type: 'object',
                    required: ['when', 'commissionPercent'],
                    additionalProperties: false,
                    properties: {
                      when: {
                        type: 'object',
                        additionalProperties: false,
                        properties: {
                          customerOrder: {
                            type: 'object',
                            additionalProperties: false,
                            properties: {
                              from: { type: 'integer', minimum: 1, maximum: 2147483647 },
                              to: { type: 'integer', minimum: 1, maximum: 2147483647 },
                            },
                            description: "Which of the customer's credited orders in the shop it is, from 1.",
                          },
                          customerMonth: {
                            type: 'object',
                            additionalProperties: false,
                            properties: {
                              from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                            },
                            description:
                              "Whole calendar months since the customer's first credited order, in the shop's time zone, from 0.",
                          },
                          affiliateIds: {
                            type: 'array',
                            minItems: 1,
                            maxItems: 200,
                            items: { type: 'string', minLength: 1, maxLength: 64, description: 'An opaque ID.' },
                          },
                          affiliateOrders: {
                            type: 'object',
                            required: ['period'],
                            additionalProperties: false,
                            properties: {
                              from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              period: {
                                type: 'string',
                                enum: ['MONTH', 'ALL_TIME'],
                                description: "`MONTH` is the order's calendar month in the shop's time zone.",
                              },
                            },
                          },
                          affiliateRevenueCents: {
                            type: 'object',
                            required: ['period'],
                            additionalProperties: false,
                            properties: {
                              from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              period: {
                                type: 'string',
                                enum: ['MONTH', 'ALL_TIME'],
                                description: "`MONTH` is the order's calendar month in the shop's time zone.",
                              },
                            },
                          },
                          orderSubtotalCents: {
                            type: 'object',
                            additionalProperties: false,
                            properties: {
                              from: { type: 'integer', minimum: 0, maximum: 2147483647 },
                              to: { type: 'integer', minimum: 0, maximum: 2147483647 },
                            },
                            description: "Goods before discount, in the shop's currency.",
                          },
                        },
                        description:
                          'All conditions that are set must hold. Bounds are inclusive. Orders count that were credited before this one, as known when it is recorded. Without a customer, an order is the first, in month 0.',
                      },
                      commissionPercent: {
                        anyOf: [
                          {
                            type: 'number',
                            minimum: 0.001,
                            maximum: 2147483647,
                            description:
                              "A percentage with at most two decimals, or units of the shop's currency for the flat types, with at most the currency's decimals.",
                          },
                          { type: 'null' },
                        ],
                        description:
                          "A percentage with at most two decimals, or units of the shop's currency for the flat types; null earns nothing.",
                      },
                      maxCommissionCents: {
                        type: 'integer',
                        minimum: 1,
                        maximum: 2147483647,
                        description: "The maximum that an order in the shop's currency earns, before tax.",
                      },
                    },
                  },
                  description:
                    "Rules for all orders, instead of those that applied. Affiliates' orders are counted as they are today.",
                },
              },
            },
            {
              anyOf: [
                { type: 'object', required: ['rules'], properties: { rules: { type: 'array' } } },
                {
                  type: 'object',
                  required: ['attributionPrecedence'],
                  properties: {
                    attributionPrecedence: {
                      anyOf: [
                        {
                          type: 'string',
                          enum: ['default', 'link-first', 'customer-first'],
                          description:
                            'Must be default, link-first, customer-first or a list of all four kinds of evidence.',
                        },
                        {
                          type: 'array',
                          minItems: 4,
                          maxItems: 4,
                          items: {
                            type: 'string',
                            enum: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
                            description: 'The kind of evidence that named the affiliate.',
                          },
                        },
                      ],
                    },
                  },
                },
                { type: 'object', required: ['clickTouch'], properties: { clickTouch: { type: 'string' } } },
                {
                  type: 'object',
                  required: ['cookieDurationDays'],
                  properties: { cookieDurationDays: { type: 'integer' } },
                },
                {
                  type: 'object',
                  required: ['commissionType'],
                  properties: {
                    commissionType: { type: 'string', enum: ['PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'] },
                  },
                },
                {
                  type: 'object',
                  required: ['commissionPercent'],
                  properties: { commissionPercent: { type: 'number' } },
                },
              ],
            },
          ],
          description:
            'At least one of the settings is required. Without `programId`, window and rate apply to all programs.',
        },
      },
      required: ['body'],
      additionalProperties: false,
    },
  },
]
