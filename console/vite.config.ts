import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// No inlined assets and no inline scripts: the page is served under `default-src 'none'`.
export default defineConfig({
  plugins: [svelte()],
  base: '/',
  build: {
    outDir: '../src/dovetail/service/console',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    sourcemap: false,
    target: 'es2022',
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8000' } },
  test: { include: ['src/**/*.test.ts'] },
})
