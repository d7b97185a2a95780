import type { FastifyInstance } from "fastify";

/** The routes that are registered, as `GET /v1/documents/{shape}`, from the router's own tree. HEAD goes with GET. */
export function registeredRoutes(app: FastifyInstance): string[] {
  const routes: string[] = [];
  const parents: string[] = [];
  for (const line of app.printRoutes({ commonPrefix: false }).split("\n")) {
    const [, indent, part, methods] = /^([ │]*)[├└]── (\S*) \(([A-Z, ]+)\)$/.exec(line) ?? [];
    if (indent === undefined || part === undefined || methods === undefined) continue;
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(part);
    const path = parents.join("").replace(/:(\w+)/g, "{$1}");
    for (const method of methods.split(", ")) if (method !== "HEAD") routes.push(`${method} ${path}`);
  }
  return routes.sort();
}
