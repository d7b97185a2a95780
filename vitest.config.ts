import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/crash/**", "node_modules/**", "dist/**"],
    // Some tests start servers and workers in processes of their own; a hung one fails after a minute.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    ...(process.env["CI"] ? { reporters: ["default", ["json", { outputFile: "test-results/tests.json" }]] } : {}),
  },
});
