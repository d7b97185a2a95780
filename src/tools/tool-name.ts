/*
 * What a tool's name says about its effect. Names come in every spelling: send_email, sendEmail, send-email, mail.send.
 */

/** Verbs that mean an effect wherever they stand in a name: get_or_create creates. */
const writeVerbs: ReadonlySet<string> = new Set([
  "send",
  "create",
  "charge",
  "post",
  "write",
  "publish",
  "transfer",
  "delete",
  "update",
  "notify",
]);

/** Verbs that mean an effect where a name's verb stands. Elsewhere they are nouns as well: get_order, last_run, call_log. */
const leadingWriteVerbs: ReadonlySet<string> = new Set([
  "add",
  "approve",
  "archive",
  "book",
  "buy",
  "call",
  "cancel",
  "close",
  "commit",
  "deploy",
  "disable",
  "drop",
  "email",
  "enable",
  "execute",
  "grant",
  "insert",
  "invite",
  "issue",
  "merge",
  "move",
  "order",
  "patch",
  "pay",
  "purchase",
  "push",
  "put",
  "refund",
  "reject",
  "remove",
  "rename",
  "replace",
  "reply",
  "reserve",
  "revoke",
  "save",
  "schedule",
  "set",
  "submit",
  "terminate",
  "trigger",
  "upload",
  "upsert",
  "withdraw",
]);

/** Verbs that mean looking, where a name's verb stands. */
const readVerbs: ReadonlySet<string> = new Set([
  "calculate",
  "check",
  "compare",
  "count",
  "describe",
  "fetch",
  "find",
  "get",
  "inspect",
  "list",
  "look",
  "lookup",
  "preview",
  "query",
  "read",
  "retrieve",
  "search",
  "show",
  "summarize",
  "validate",
  "view",
]);

/** Services whose interfaces are mostly there to change something, by the words that their names make. */
const writeServices: ReadonlySet<string> = new Set([
  "adyen",
  "discord",
  "gateway",
  "mailgun",
  "payment",
  "paypal",
  "s3",
  "sendgrid",
  "slack",
  "square",
  "stripe",
  "telegram",
  "twilio",
  "webhook",
]);

/** What a name says. */
export interface NameEvidence {
  /** The word that means an effect; undefined: none does. */
  readonly writes: string | undefined;
  /** The service with effects that it names. */
  readonly service: string | undefined;
  /** The word that means looking; undefined also when another one means an effect. */
  readonly reads: string | undefined;
}

/** Reads a tool's name. */
export function evidenceOf(name: string): NameEvidence {
  const words = wordsOf(name);
  const service = words.find((word) => writeServices.has(word));
  // A service in front is no verb: slack_reply replies.
  const leading = words.find((word) => !writeServices.has(word));
  const writes =
    words.find((word) => writeVerbs.has(stem(word))) ??
    verbsOf(words, leading).find((word) => leadingWriteVerbs.has(stem(word)));
  const reads = writes === undefined && readsAll(words, leading) ? leading : undefined;
  return { writes, service, reads };
}

/** Words that join two verbs: fetch_and_pay pays. */
const joining: ReadonlySet<string> = new Set(["and", "or", "then"]);

/** The words that stand where a verb does. */
function verbsOf(words: readonly string[], leading: string | undefined): readonly string[] {
  const joined = words.filter((_, at) => joining.has(words[at - 1] ?? ""));
  return leading === undefined ? joined : [leading, ...joined];
}

/** Whether a name begins with a verb that means looking, and joins no other one to it: get_and_burn does more than get. */
function readsAll(words: readonly string[], leading: string | undefined): boolean {
  if (leading === undefined || !readVerbs.has(leading)) return false;
  const [joint = "", next = ""] = words.slice(words.indexOf(leading) + 1);
  return !joining.has(joint) || readVerbs.has(next);
}

/** The words of a name, in lower case: of sendHTTPRequest send, http and request. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "");
}

/** Without the number of a version, and without "re": resend2 sends. */
function stem(word: string): string {
  const base = word.replace(/\d+$/, "");
  const again = base.startsWith("re") ? base.slice(2) : base;
  return writeVerbs.has(again) ? again : base;
}
