import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "iovalkey";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FlowFabric, FlowFabricError } from "../../src/index.ts";
import { runHere } from "../cli/stage.ts";
import { freePort, hasValkey, launch, type ServerProcess } from "../servers/valkey-server.ts";

/** What a user of FlowFabric's own must be allowed, as docs/valkey.md says. */
async function documentedRules(): Promise<string[]> {
	const page = await readFile(new URL("../../docs/valkey.md", import.meta.url), "utf8");
	const rule = /^ACL SETUSER \S+ (.+)$/m.exec(page.replaceAll("\\\n", " "))?.[1];
	if (!rule) throw new Error("docs/valkey.md shows no ACL SETUSER");
	return rule.trim().split(/\s+/);
}

describe.runIf(hasValkey())("a guarded server", () => {
	let folder: string;
	let server: ServerProcess;
	let client: Redis;
	let tlsPort: number;
	beforeAll(async () => {
		folder = await mkdtemp(join(tmpdir(), "flowfabric-tls-"));
		const file = (name: string) => join(folder, name);
		const subject = ["-subj", "/CN=flowfabric test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
		const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
		execFileSync(
			"openssl",
			["req", "-x509", ...key, ...subject, "-keyout", file("key.pem"), "-out", file("cert.pem")],
			{ stdio: "ignore" },
		);
		tlsPort = await freePort();
		const settings = [
			"--tls-port",
			String(tlsPort),
			"--tls-cert-file",
			file("cert.pem"),
			"--tls-key-file",
			file("key.pem"),
		];
		settings.push("--tls-ca-cert-file", file("cert.pem"), "--tls-auth-clients", "optional");
		server = await launch({ folder, settings });
		client = new Redis(server.port);
		await client.call("ACL", "SETUSER", "flowfabric", "reset", ...(await documentedRules()));
	});
	afterAll(async () => {
		client.disconnect();
		await server.end();
		await rm(folder, { recursive: true });
	});

	async function works(url: string): Promise<void> {
		const ff = await FlowFabric.open(url, { onFault: () => {} });
		onTestFinished(() => ff.close());
		const waiting = ff.backend.leases.claim({ workerId: "w", instanceId: "w", waitMs: 10_000 });
		const { id } = await ff.submit("job", { a: 1 });
		expect((await waiting).map((claimed) => claimed.id)).toEqual([id]);
		expect((await ff.events(id)).events).toHaveLength(2);
		expect((await ff.list()).executions).toHaveLength(1);
	}

	async function refusal(url: string): Promise<FlowFabricError> {
		const error = await FlowFabric.open(url).then(
			() => new Error("was opened"),
			(thrown: unknown) => thrown,
		);
		if (!(error instanceof FlowFabricError)) throw error;
		return error;
	}

	const prefix = () => `prefix=ff-${randomUUID()}`;

	it("is used over TLS, its certificate checked against the authority given", async () => {
		await works(`valkeys://127.0.0.1:${tlsPort}?ca=${join(folder, "cert.pem")}&${prefix()}`);
		await works(`rediss://localhost:${tlsPort}?ca=${join(folder, "cert.pem")}&${prefix()}`);
	});

	it("shows a certificate of its own to a server that asks for one", async () => {
		const file = (name: string) => join(folder, name);
		await client.config("SET", "tls-auth-clients", "yes");
		onTestFinished(async () => void (await client.config("SET", "tls-auth-clients", "optional")));
		const own = `ca=${file("cert.pem")}&cert=${file("cert.pem")}&key=${file("key.pem")}`;
		await works(`valkeys://127.0.0.1:${tlsPort}?${own}&${prefix()}`);
	});

	it("a certificate that nobody vouches for, and files that are not there, are refused by name", async () => {
		const untrusted = await refusal(`valkeys://127.0.0.1:${tlsPort}`);
		expect(untrusted).toMatchObject({ code: "store_unavailable" });
		expect(untrusted.message).toMatch(/certificate/);
		const missing = await refusal(`valkeys://127.0.0.1:${tlsPort}?ca=/not/there.pem`);
		expect(missing.message).toMatch(/ENOENT.*\/not\/there\.pem/);
	});

	it("serves a user that may do no more than the docs say", async () => {
		await client.call("ACL", "SETUSER", "flowfabric", ">p@ss/word");
		await works(`valkey://flowfabric:p%40ss%2Fword@127.0.0.1:${server.port}?${prefix()}`);
	});

	it("refuses a wrong password at once, and nobody gets to see it", async () => {
		const began = performance.now();
		const url = `valkey://flowfabric:hunter2@127.0.0.1:${server.port}`;
		const error = await refusal(url);
		expect(performance.now() - began).toBeLessThan(30_000);
		expect(error.message).toMatch(/denies access to this user.*WRONGPASS/);
		expect(JSON.stringify([error, error.message, error.stack, error.details])).not.toContain("hunter2");
		const { code, out, err } = await runHere(["doctor", "--store", url]);
		expect(code).not.toBe(0);
		expect(out + err).toMatch(/WRONGPASS/);
		expect(out + err).not.toContain("hunter2");
	});

	it("a user that may not use functions is refused, saying what it lacks", async () => {
		await client.call("ACL", "SETUSER", "limited", "on", ">x", "~*", "&*", "+@all", "-function", "-fcall");
		expect((await refusal(`valkey://limited:x@127.0.0.1:${server.port}?${prefix()}`)).message).toMatch(
			/NOPERM.*function/,
		);
	});

	it("a user that may not publish commits all the same, and every commit gets a number of its own", async () => {
		await client.call("ACL", "SETUSER", "silent", "on", ">x", "~*", "&*", "+@all", "-pubsub", "-publish");
		const ff = await FlowFabric.open(`valkey://silent:x@127.0.0.1:${server.port}?${prefix()}`, {
			partitions: 1,
			onFault: () => {},
		});
		onTestFinished(() => ff.close());
		const runs = [await ff.submit("job"), await ff.submit("job")];
		for (const { id } of runs) expect((await ff.events(id)).events).toHaveLength(1);
	});

	it("keeps what is in another database out of the way", async () => {
		const store = `127.0.0.1:${server.port}`;
		await works(`valkey://${store}/1`);
		await works(`valkey://${store}/2`);
	});
});
