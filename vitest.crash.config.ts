import { defineConfig } from "vitest/config";

// The slow runs: many kills of real processes, long explorations. `npm run test:crash`; CI runs them too.
export default defineConfig({
  test: {
    include: ["test/crash/**/*.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    ...(process.env["CI"] ? { reporters: ["default", ["json", { outputFile: "test-results/crash.json" }]] } : {}),
  },
});
