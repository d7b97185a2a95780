import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { namedSchemas } from "./schemas/answers.js";
import { optionalBody } from "./schemas/requests.js";
import { toolCallSchemas } from "./schemas/tool-call-answers.js";

/** Follows the routes that are registered after it and makes the OpenAPI document of their schemas. */
export function describeApi(app: FastifyInstance): void {
  for (const schema of [...namedSchemas, ...toolCallSchemas]) app.addSchema(schema);
  app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "oncekv",
        // Of the interface, as in the addresses, not of the package.
        version: "1.0.0",
        description: "A document store with compare-and-swap and per-document expiry.",
      },
      components: {
        securitySchemes: {
          token: { type: "http", scheme: "bearer", description: "Needed when the server was given tokens." },
        },
      },
      tags: [
        { name: "documents", description: "Reading and writing documents." },
        { name: "changes", description: "Following what changes." },
        { name: "tool calls", description: "Making a tool call fire once, from any language." },
        { name: "operations", description: "Running the server." },
      ],
    },
    // OpenAPI 3.1 knows `const`.
    convertConstToEnum: false,
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => String(schema["$id"] ?? `Part${index}`) },
    transformObject: (document) => ("openapiObject" in document ? withOptionalBodies(document.openapiObject) : {}),
  });
}

interface DescribedOperation {
  readonly requestBody?: {
    required?: boolean;
    readonly content?: { readonly [type: string]: { readonly schema?: object } };
  };
}

/** The generator takes every body for a required one. */
function withOptionalBodies<Description extends { paths?: object }>(description: Description): Description {
  const paths: object = description.paths ?? {};
  for (const path of Object.values(paths) as { readonly [method: string]: DescribedOperation }[]) {
    for (const { requestBody } of Object.values(path)) {
      const schema = requestBody?.content?.["application/json"]?.schema;
      if (requestBody !== undefined && schema !== undefined && optionalBody in schema) requestBody.required = false;
    }
  }
  return description;
}
