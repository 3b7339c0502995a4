import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Stage } from "../cli/stage.ts";
import { hasChromium, startChromium } from "../servers/chromium.ts";

describe.skipIf(!hasChromium())("/docs in a browser", () => {
	let browser: Browser;
	beforeAll(async () => {
		browser = await startChromium();
	});
	afterAll(() => browser?.close());

	test("it shows every call with its fields, finds one by words, and makes it", async () => {
		const stage = await Stage.open();
		onTestFinished(() => stage.close());
		const page = await browser.newPage();
		onTestFinished(() => page.close());
		const complaints: string[] = [];
		page.on("pageerror", (error) => void complaints.push(String(error)));
		page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
		await page.goto(`${stage.url}/docs`);

		const calls = page.locator("details");
		await calls.first().waitFor();
		const { paths } = (await (await fetch(`${stage.url}/openapi.json`)).json()) as { paths: Record<string, object> };
		expect(await calls.count()).toBe(Object.values(paths).flatMap((methods) => Object.keys(methods)).length);

		await page.fill("#find", "post /v1/executions submit");
		const create = page.locator("#postExecutions");
		expect(await page.locator("details:visible").count()).toBeLessThan(10);
		await create.locator("summary").click();
		await expect.poll(() => create.locator("table").first().textContent()).toContain("idempotencyKey?");
		await create.locator("textarea").fill('{"kind": "<b>job</b>"}');
		await create.locator("button").click();
		await expect.poll(() => create.locator("form > pre").textContent()).toMatch(/^201 [\s\S]*"created": true/);
		expect((await stage.ff.list()).executions).toMatchObject([{ kind: "<b>job</b>" }]);
		expect(complaints).toEqual([]);
	});
});
