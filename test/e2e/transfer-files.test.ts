import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { exportFile, FlowFabric, importFile } from "../../src/index.ts";

async function folder(): Promise<string> {
	const path = await mkdtemp(join(tmpdir(), "flowfabric-"));
	onTestFinished(() => rm(path, { recursive: true }));
	return path;
}

/** A store with one execution that failed with a detail, closed again. */
async function failedBefore(url: string): Promise<string> {
	const ff = await FlowFabric.open(url);
	const { id } = await ff.submit("job");
	const [claimed] = await ff.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	await ff.backend.leases.fail(id, { fence, reason: "broken", detail: "TypeError: broken\n    at work.ts:1:1" });
	await ff.close();
	return id;
}

it("the detail of a failure goes along from one store to another", async () => {
	const path = await folder();
	const id = await failedBefore(`sqlite:${path}/from.db`);
	await exportFile(`sqlite:${path}/from.db`, `${path}/all.jsonl`);
	await importFile(`${path}/all.jsonl`, `sqlite:${path}/to.db`, { partitions: 4 });
	const ff = await FlowFabric.open(`sqlite:${path}/to.db`);
	onTestFinished(() => ff.close());
	expect((await ff.get(id)).failure?.detail).toBe("TypeError: broken\n    at work.ts:1:1");
	expect((await ff.attempts(id))[0]?.failure?.detail).toContain("TypeError");
});

it("an import says by its code what is wrong: the file, its line, or the store", async () => {
	const path = await folder();
	const file = join(path, "bad.jsonl");
	await writeFile(file, '{"flowfabric":"export","format":1,"partitions":1}\nnonsense\n');
	await expect(importFile(file, "memory:")).rejects.toMatchObject({
		name: "FlowFabricError",
		code: "import_invalid",
		message: expect.stringContaining(`${file}: line 2: `),
		details: { path: file, line: 2 },
	});
	await expect(importFile(join(path, "none.jsonl"), "memory:")).rejects.toMatchObject({
		code: "import_invalid",
		message: expect.stringContaining("there is no such file"),
	});
	await failedBefore(`sqlite:${path}/full.db`);
	await expect(importFile(file, `sqlite:${path}/full.db`)).rejects.toMatchObject({ code: "store_not_empty" });
	await expect(importFile(file, "memory:", { partition: 4 } as never)).rejects.toMatchObject({
		code: "invalid_input",
		message: "partition: is not an option of importFile(); did you mean partitions?",
	});
});
