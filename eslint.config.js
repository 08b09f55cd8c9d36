// Lint: type-aware rules for TypeScript and Svelte, and the import rules of the rooms (eslint.rooms.js).
import js from '@eslint/js'
import svelte from 'eslint-plugin-svelte'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'
import { house, socketFiles, socketGlobals } from './eslint.rooms.js'

const noSockets = socketGlobals.map((name) => ({ name, message: 'It opens a socket; Satchel opens none.' }))
const globalObjects = ['window', 'self', 'global']
const typed = ['**/*.ts', '**/*.svelte']

export default defineConfig(
  { ignores: ['out/', 'dist/', 'runs/', '.tmp/', 'native-kernels/build/', 'resources/', 'test/parity/fixtures/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { files: ['**/*.js', '**/*.mjs', ...typed], extends: [js.configs.recommended], rules: { 'no-undef': 'off' } },
  {
    files: typed,
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['*.ts'] }, tsconfigRootDir: import.meta.dirname, extraFileExtensions: ['.svelte'] } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      // `!` is how an index that is known to exist is read under noUncheckedIndexedAccess.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Objects here are closures, not classes: their functions read no `this`.
      '@typescript-eslint/unbound-method': 'off',
      // Syntax trees name their kinds as text.
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
      // An interface may be asynchronous where one of its implementations is not.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['**/*.svelte'],
    extends: [svelte.configs.recommended],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
    // Template expressions reach the linter without their types; svelte-check, which has them, checks them.
    rules: { '@typescript-eslint/no-unsafe-argument': 'off', '@typescript-eslint/no-unsafe-assignment': 'off', '@typescript-eslint/no-unsafe-call': 'off', '@typescript-eslint/no-unsafe-member-access': 'off', '@typescript-eslint/no-unsafe-return': 'off' },
  },
  { files: ['**/*.js', '**/*.mjs', ...typed], plugins: { house }, rules: { 'house/imports': 'error', 'house/file-name': 'error' } },
  {
    files: ['src-main/**', 'src-renderer/**', 'native-kernels/**'],
    languageOptions: { globals: Object.fromEntries(globalObjects.map((name) => [name, 'readonly'])) },
    rules: {
      'max-lines': ['error', 450],
      'no-restricted-globals': ['error', { globals: noSockets, checkGlobalObject: true, globalObjects }],
      'no-restricted-properties': ['error', { object: 'navigator', property: 'sendBeacon', message: 'It opens a socket; Satchel opens none.' }],
    },
  },
  {
    files: socketFiles,
    rules: { 'no-restricted-globals': ['error', { globals: noSockets.filter(({ name }) => name !== 'fetch'), checkGlobalObject: true, globalObjects }] },
  },
)
