import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type Client,
  type Commit,
  createClient,
  type Document,
  type DocumentStore,
  type Fields,
  type WaitResult,
  type WriteResult,
} from "../../client/index.js";

interface Note {
  text: string;
  tags?: string[];
}

interface ToolCall {
  status: "pending" | "completed";
  result: { id: number } | null;
}

interface Shapes {
  "tool-call": ToolCall;
  note: Note;
}

/** Never called: only its types matter. */
async function typed(client: Client<{ "tool-call": ToolCall; note: Note }>): Promise<void> {
  expectTypeOf(await client.get("note", "a")).toEqualTypeOf<Note | undefined>();
  expectTypeOf(await client.getDocument("tool-call", "a")).toEqualTypeOf<Document<ToolCall> | undefined>();
  expectTypeOf(await client.put({ shape: "note", id: "a", set: { text: "x" } })).toEqualTypeOf<WriteResult<Note>>();
  expectTypeOf(await client.waitFor("note", "a")).toEqualTypeOf<WaitResult<Note>>();
  for await (const commit of client.watch({ shape: "note" })) expectTypeOf(commit).toEqualTypeOf<Commit<Note>>();
  for await (const document of client.scan("tool-call")) expectTypeOf(document).toEqualTypeOf<Document<ToolCall>>();
  await client.patch({ shape: "tool-call", id: "a", merge: { status: "completed", result: null } });
  await client.batch([
    { op: "put", shape: "note", id: "a", set: { text: "x" } },
    { op: "patch", shape: "tool-call", id: "a", merge: { result: null } },
    { op: "check", shape: "note", id: "b", if_match: { exists: true } },
  ]);

  // @ts-expect-error there is no such shape
  await client.get("nota", "a");
  // @ts-expect-error a note has a text
  await client.put({ shape: "note", id: "a", set: { tags: [] } });
  // @ts-expect-error a note is not a tool call
  await client.put({ shape: "tool-call", id: "a", set: { text: "x" } });
  // @ts-expect-error there is no such status
  await client.patch({ shape: "tool-call", id: "a", merge: { status: "done" } });
  // @ts-expect-error a misspelt member would be no condition at all
  await client.put({ shape: "note", id: "a", set: { text: "x" }, ifMatch: { exists: false } });
}

describe("the types of a client", () => {
  test("know the fields of each shape, given as interfaces or inline", () => {
    expectTypeOf(createClient<Shapes>).returns.toEqualTypeOf<Client<Shapes>>();
    expectTypeOf<Client<Shapes>>().toExtend<DocumentStore<Shapes>>();
    expect(typed).toBeTypeOf("function");
  });

  test("without shapes take any name and any fields", async () => {
    const client = createClient();
    expectTypeOf(client.get<"anything">).returns.resolves.toEqualTypeOf<Fields | undefined>();
    await client.close();
    await expect(client.get("anything", "a")).rejects.toMatchObject({ code: "store_closed" });
  });
});
