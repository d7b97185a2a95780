import { isPlainObject } from "../../../src/documents/plain-object.js";

/*
 * What the SDK gives a tool besides its arguments. The first generation (`@modelcontextprotocol/sdk`) calls it `extra` and
 * has everything at its top; the second (`@modelcontextprotocol/server`) calls it `ctx` and has two storeys. Only here is
 * it known which of them a call came from.
 */

/** What a token says of its bearer, as both generations have it. */
export interface McpAuthInfo {
  readonly clientId: string;
  readonly extra?: { readonly [name: string]: unknown } | undefined;
}

/** What is looked at of a call's context; everything else goes to the tool as it is. */
export interface McpCallContext {
  /** First generation. */
  readonly requestId?: string | number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly authInfo?: McpAuthInfo | undefined;
  readonly _meta?: object | undefined;
  /** Second generation. */
  readonly mcpReq?:
    | {
        readonly id: string | number;
        readonly signal: AbortSignal;
        readonly _meta?: object | undefined;
      }
    | undefined;
  readonly http?: { readonly authInfo?: McpAuthInfo | undefined } | undefined;
  /** Both. */
  readonly sessionId?: string | undefined;
}

/** The `_meta` of the request. */
export function metaOf({ mcpReq, _meta }: McpCallContext): unknown {
  return mcpReq === undefined ? _meta : mcpReq._meta;
}

/** Aborts when the client cancels, or no longer waits. */
export function clientSignalOf({ mcpReq, signal }: McpCallContext): AbortSignal | undefined {
  return mcpReq === undefined ? signal : mcpReq.signal;
}

/** Who the transport says is calling; undefined where it knows nobody, as over stdio. */
export function authInfoOf({ mcpReq, authInfo, http }: McpCallContext): McpAuthInfo | undefined {
  return mcpReq === undefined ? authInfo : http?.authInfo;
}

/**
 * The ids by which the protocol knows this call, for the record. Requests are counted from 0 in every session, so that the
 * number alone says nothing, and one that is as bare as that would be taken for a key of the caller's.
 */
export function callIdsOf(context: McpCallContext): { readonly tool_call_id?: string; readonly thread_id?: string } {
  const id = context.mcpReq === undefined ? context.requestId : context.mcpReq.id;
  return {
    ...(id === undefined ? {} : { tool_call_id: `request ${id}` }),
    ...(context.sessionId === undefined ? {} : { thread_id: context.sessionId }),
  };
}

/** The context with another signal in the place of the client's. */
export function withSignalOf<C extends McpCallContext>(context: C, signal: AbortSignal): C {
  return withOwn(context, { signal });
}

/** The context with more in the `_meta` of its request. */
export function withMeta<C extends McpCallContext>(context: C, added: { readonly [name: string]: unknown }): C {
  const meta = metaOf(context);
  return withOwn(context, { _meta: { ...(isPlainObject(meta) ? meta : {}), ...added } });
}

function withOwn<C extends McpCallContext>(context: C, members: object): C {
  const { mcpReq } = context;
  return mcpReq === undefined ? { ...context, ...members } : { ...context, mcpReq: { ...mcpReq, ...members } };
}
