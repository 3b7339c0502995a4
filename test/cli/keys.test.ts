import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

const ADMIN = "a-token-of-the-administrator";
const secretHex = "5ec2e7".repeat(11).slice(0, 64);

let stage: Stage;
let folder: string;

beforeAll(async () => {
	stage = await Stage.open({ FF_API_TOKEN: ADMIN });
	folder = await mkdtemp(join(tmpdir(), "flowfabric-keys-"));
});
afterAll(async () => {
	await stage.close();
	await rm(folder, { recursive: true });
});

const rotate = (flags: string[] = [], stdin = "") =>
	stage.run(["keys", "rotate", ...flags], { stdin, env: { FF_TOKEN: ADMIN } });

test("rotates, and says which key signs and until when the former counts", async () => {
	const { code, out } = await rotate();
	expect(code).toBe(0);
	expect(out).toMatch(/^k2 signs from now on\ntokens by k1 are taken until in (23 h|1 d) \(20..-.*Z\)\n$/);
});

test("a secret comes by a file or a pipe, and is shown by nobody", async () => {
	const path = join(folder, "secret");
	await writeFile(path, `${secretHex}\n`);
	const byFile = await rotate(["--kid", "july", "--secret-file", path, "--json"]);
	expect(JSON.parse(byFile.out)).toMatchObject({ kid: "july", previousKid: "k2" });
	const byPipe = await rotate(["--kid", "july", "--secret-file", "-", "--json"], secretHex.toUpperCase());
	expect(byPipe.out).toBe(byFile.out);
	const other = await rotate(["--kid", "july", "--secret-file", "-"], secretHex.replaceAll("5", "6"));
	expect(other.code).toBe(4);
	expect(other.err).toContain("the keyring already has this kid with a different secret");
	const short = await rotate(["--secret-file", "-"], "5ec2e7");
	expect(short.code).toBe(2);
	expect(short.err).toContain("secretHex: must be 32 to 128 bytes as hex digits");
	for (const { out, err } of [byFile, byPipe, other, short]) expect(out + err).not.toMatch(/[56]ec2e7/i);
});

test("a file that is not there, and a secret as an argument, are refused", async () => {
	const missing = await rotate(["--secret-file", join(folder, "nowhere")]);
	expect(missing.code).toBe(2);
	expect(missing.err).toContain("cannot be read (ENOENT)");
	const { code, err } = await rotate(["--secret", secretHex]);
	expect(code).toBe(2);
	expect(err).not.toContain("5ec2e7");
});
