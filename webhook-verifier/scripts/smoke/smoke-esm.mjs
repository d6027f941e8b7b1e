import * as core from '@referral/webhook-verifier'
import * as express from '@referral/webhook-verifier/express'
import * as fastify from '@referral/webhook-verifier/fastify'
import * as hono from '@referral/webhook-verifier/hono'
import * as next from '@referral/webhook-verifier/next'
import * as node from '@referral/webhook-verifier/node'
import * as testing from '@referral/webhook-verifier/testing'
import vectors from '@referral/webhook-verifier/vectors.json' with { type: 'json' }
import { smokeNode } from './smoke-node.mjs'

await smokeNode({ core, express, fastify, hono, next, node, testing }, vectors)
console.log('ok')
