import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const onCi = process.env["CI"] !== undefined && process.env["CI"] !== "";

// The agent frameworks have a package of their own. Without them these tests cannot even be loaded; on CI that is a failure.
const frameworks = fileURLToPath(new URL("test/adapters/node_modules", import.meta.url));
const withoutFrameworks = !existsSync(frameworks) && !onCi;
if (withoutFrameworks) {
  process.stderr.write("SKIPPED test/adapters: no agent frameworks are installed here (npm run frameworks)\n");
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/crash/**", "**/node_modules/**", "dist/**", ...(withoutFrameworks ? ["test/adapters/**"] : [])],
    // Suites that come in packages register their tests with the vitest that runs here, and not with one of their own.
    server: { deps: { inline: ["@keyv/test-suite", /langgraph-checkpoint-validation/] } },
    // Some tests start servers and workers in processes of their own. What hangs fails after this time; a busy machine is slow.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    ...(onCi ? { reporters: ["default", ["json", { outputFile: "test-results/tests.json" }]] } : {}),
  },
});
