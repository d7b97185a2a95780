import { openMemoryStore, toolCalls } from "oncekv";

// One line around a tool, and it fires once for each intent. Run it: npx tsx examples/guard-a-tool.ts

const store = await openMemoryStore(); // openStore({ dataDir: "./data" }) outlives the process
const calls = toolCalls(store);

let mailsSent = 0;
async function sendEmail(to: string, order: number): Promise<string> {
  mailsSent += 1;
  return `mail ${mailsSent} to ${to} about order ${order}`;
}

/** What the agent loop calls. The scope is the user's turn: the same arguments in another turn are another mail. */
async function guardedSendEmail(args: { to: string; order: number }, turn: string) {
  return calls.run({ tool: "send_email", args, scope: turn }, () => sendEmail(args.to, args.order));
}

// The model emits the call twice, the second time with its arguments in another order.
const [one, two] = await Promise.all([
  guardedSendEmail({ to: "ana@example.com", order: 12345 }, "turn-1"),
  guardedSendEmail({ order: 12345, to: "ana@example.com" }, "turn-1"),
]);
console.log("first:", one.result, "- replay:", one.was_replay);
console.log("second:", two.result, "- replay:", two.was_replay);

// In a later turn the user asks for it again, and means it.
const later = await guardedSendEmail({ to: "ana@example.com", order: 12345 }, "turn-2");
console.log("later:", later.result, "- replay:", later.was_replay);
console.log("mails sent:", mailsSent);

await calls.close();
await store.close();
