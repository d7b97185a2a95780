import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Pool, type PoolConfig } from "pg";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";

/*
 * A PostgreSQL of a test file's own, in a temporary folder and reached through a socket in there. It is made when the file
 * begins, and gone when it ends. What is on its disk need not outlive a crash, so that nothing waits for the disk.
 */

/** The running server. */
export interface PostgresServer {
  /** A pool that ends with the running test. */
  pool(config?: PoolConfig): Pool;
}

/** Tests with a server; without its programs they are skipped, and where CI runs they fail. */
export function describeWithPostgres(name: string, tests: (server: PostgresServer) => void): void {
  const programs = findPrograms();
  if (programs === undefined) {
    const reason = "PostgreSQL is not installed: neither PATH nor /usr/lib/postgresql has initdb and postgres";
    if (process.env["CI"]) it(name, () => Promise.reject(new Error(reason)));
    else describe.skip(`${name} (${reason})`, () => it("needs PostgreSQL", () => {}));
    if (!process.env["CI"]) console.log(`skipped: ${name}: ${reason}`);
    return;
  }
  describe(name, () => {
    let started: Started | undefined;
    beforeAll(async () => {
      started = await start(programs);
    });
    afterAll(async () => {
      await started?.stop();
    });
    tests({
      pool(config = {}) {
        if (started === undefined) throw new Error("the server runs in tests only");
        const pool = new Pool({ host: started.folder, user: "tester", database: "postgres", ...config });
        // Connections that a test kills while nobody uses them say so here.
        pool.on("error", () => {});
        onTestFinished(() => pool.end());
        return pool;
      },
    });
  });
}

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

interface Started {
  readonly folder: string;
  stop(): Promise<void>;
}

function findPrograms(): Programs | undefined {
  const versions = "/usr/lib/postgresql";
  const installed = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...installed.map((version) => join(versions, version, "bin")),
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  for (const folder of folders) {
    const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") };
    // Beside the real programs are those that they need.
    if (existsSync(programs.initdb) && existsSync(programs.postgres)) {
      return { initdb: realpathSync(programs.initdb), postgres: realpathSync(programs.postgres) };
    }
  }
  return undefined;
}

async function start(programs: Programs): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), "oncekv-pg-"));
  const user = otherUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const options = { cwd: folder, env: { ...process.env, LC_ALL: "C" }, ...user };
  const dataDir = join(folder, "data");
  const initializing = spawn(
    programs.initdb,
    ["-D", dataDir, "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"],
    { ...options, stdio: ["ignore", "ignore", "pipe"] },
  );
  await ended(initializing);
  const settings = ["listen_addresses=", `unix_socket_directories=${folder}`, "max_connections=150"];
  const careless = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "deadlock_timeout=100ms"];
  const server = spawn(programs.postgres, ["-D", dataDir, ...[...settings, ...careless].flatMap((s) => ["-c", s])], {
    ...options,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = new Promise<void>((resolve) => server.once("close", () => resolve()));
  await said(server, "ready to accept connections");
  return {
    folder,
    async stop() {
      server.kill("SIGINT");
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The server refuses to run as root. */
function otherUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (found === undefined) throw new Error("there is no user but root to run PostgreSQL as");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

function ended(child: ChildProcess): Promise<void> {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`${child.spawnfile}: ${code}: ${text}`))));
  });
}

function said(child: ChildProcess, words: string): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => reject(new Error(`${child.spawnfile} ended, ${code}: ${text}`)));
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      text = `${text}${chunk}`.slice(-10_000);
      if (text.includes(words)) resolve();
    });
  });
}
