import { expect, test } from "vitest";
import { registeredRoutes } from "./routes.js";
import { startServer } from "./test-server.js";

interface Described {
  readonly operationId?: string;
  readonly summary?: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema?: object }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, { readonly schema: object }> };
  readonly responses: Record<
    string,
    { readonly description?: string; readonly headers?: object; readonly content?: object }
  >;
  readonly security?: readonly object[];
}

interface Description {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Record<string, Record<string, Described>>;
  readonly components: { readonly schemas: Record<string, object>; readonly securitySchemes: object };
}

async function describedBy(): Promise<{ description: Description; routes: string[] }> {
  const { request, app } = await startServer();
  const answer = await request("GET", "/openapi.json");
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  return { description: answer.json as Description, routes: registeredRoutes(app) };
}

function operationsOf(description: Description): [string, Described][] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Described] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

test("every route is described, and nothing else", async () => {
  const { description, routes } = await describedBy();
  expect(
    operationsOf(description)
      .map(([name]) => name)
      .sort(),
  ).toEqual(routes);
  expect(routes).toHaveLength(29);
});

test("the description is an OpenAPI 3.1 document whose parts hold together", async () => {
  const { description } = await describedBy();
  expect(description.openapi).toBe("3.1.0");
  expect(description.info).toMatchObject({ title: "oncekv", version: "1.0.0" });
  const identifiers = operationsOf(description).map(([, { operationId }]) => operationId);
  expect(new Set(identifiers).size).toBe(identifiers.length);
  for (const [name, operation] of operationsOf(description)) {
    expect(operation.summary, name).toBeTruthy();
    const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    const described = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
    expect(
      described.map((parameter) => parameter.name),
      name,
    ).toEqual(inPath);
    for (const parameter of operation.parameters ?? []) expect(parameter.schema, name).toBeTruthy();
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(status, name).toMatch(/^[2345]\d\d$/);
      expect(response.description, `${name} ${status}`).toBeTruthy();
    }
  }
  for (const [, reference = ""] of JSON.stringify(description).matchAll(/"\$ref":"([^"]+)"/g)) {
    expect(reference).toMatch(/^#\/components\/schemas\//);
    expect(Object.keys(description.components.schemas)).toContain(reference.split("/").at(-1));
  }
  expect(JSON.stringify(description)).not.toContain("$id");
});

test("errors are described as problems, with the headers that come with them", async () => {
  const { description } = await describedBy();
  for (const [name, operation] of operationsOf(description)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue;
      expect(Object.keys(response.content ?? {}), `${name} ${status}`).toEqual(["application/problem+json"]);
    }
    expect(Object.keys(operation.responses), name).toEqual(expect.arrayContaining(["400", "500"]));
  }
  const put = description.paths["/v1/documents/{shape}/{id}"]?.["put"];
  expect(Object.keys(put?.responses ?? {})).toEqual([
    "200",
    "201",
    "400",
    "401",
    "403",
    "412",
    "413",
    "415",
    "422",
    "429",
    "500",
    "503",
  ]);
  expect(put?.responses["503"]?.headers).toHaveProperty("Retry-After");
  expect(put?.responses["401"]?.headers).toHaveProperty("WWW-Authenticate");
  expect(put?.responses["201"]?.headers).toMatchObject({ ETag: {}, "Idempotent-Replayed": {} });
});

test("the description tells which body may be left out and who needs a token", async () => {
  const { description } = await describedBy();
  const document = description.paths["/v1/documents/{shape}/{id}"];
  expect(
    [document?.["put"], document?.["patch"], document?.["delete"]].map((operation) => operation?.requestBody?.required),
  ).toEqual([true, true, false]);
  expect(description.paths["/healthz"]?.["get"]?.security).toEqual([{}]);
  expect(document?.["get"]?.security).toEqual([{ token: [] }, {}]);
  expect(description.components.securitySchemes).toMatchObject({ token: { type: "http", scheme: "bearer" } });
});

test("the answers that a server gives are those that it describes", async () => {
  const { request } = await startServer();
  const { schemas } = ((await request("GET", "/openapi.json")).json as Description).components;
  const membersOf = (name: string) => Object.keys((schemas[name] as { properties: object }).properties);
  const put = await request("PUT", "/v1/documents/note/a", { body: { set: {}, return: "document" } });
  expect(membersOf("WriteResult")).toEqual(expect.arrayContaining(Object.keys(put.json as object)));
  const read = await request("GET", "/v1/documents/note/a");
  expect(Object.keys(read.json as object)).toEqual(membersOf("Document"));
  const page = await request("GET", "/v1/documents/note");
  expect(Object.keys(page.json as object)).toEqual(membersOf("ListPage"));
  const failed = await request("PUT", "/v1/documents/note/a", { body: { set: {}, if_match: { exists: false } } });
  expect(membersOf("Problem")).toEqual(expect.arrayContaining(Object.keys(failed.json as object)));
  const { failures } = failed.json as { failures: object[] };
  expect(membersOf("ConditionFailure")).toEqual(expect.arrayContaining(Object.keys(failures[0] ?? { none: 1 })));
});
