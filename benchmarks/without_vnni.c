/* Runs a program as on a processor with AVX2 only, at full speed, on Linux and x86-64:
 *
 *     gcc -O2 -shared -fPIC -o /tmp/without_vnni.so benchmarks/without_vnni.c
 *     LD_PRELOAD=/tmp/without_vnni.so python -m pytest -p no:faulthandler tests/models/test_eight_bit.py
 *
 * Libraries ask CPUID which instructions there are. Where the processor supports it (the flag
 * cpuid_fault in /proc/cpuinfo), arch_prctl lets that instruction fault; the handler answers in its
 * place, without AVX-512, VNNI and AMX. Exits with 77 where CPUID can't be made to fault.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT(number) (1u << (number))

static int allow_cpuid(int allowed) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed); }

static void answer_cpuid(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];
    unsigned leaf = registers[REG_RAX], subleaf = registers[REG_RCX], a, b, c, d;
    (void)number, (void)info;
    if (code[0] != 0x0f || code[1] != 0xa2) { /* a real fault, not CPUID */
        signal(SIGSEGV, SIG_DFL);
        return;
    }
    allow_cpuid(1);
    __cpuid_count(leaf, subleaf, a, b, c, d);
    allow_cpuid(0);
    if (leaf == 7 && subleaf == 0) {
        /* AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ;
         * 4VNNIW, 4FMAPS, VP2INTERSECT, AMX BF16, AVX-512 FP16, AMX TILE, AMX INT8 */
        b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31));
        c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));
        d &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));
    } else if (leaf == 7 && subleaf == 1) {
        /* AVX VNNI, AVX-512 BF16, AMX FP16, AVX IFMA; AVX VNNI INT8, NE CONVERT, VNNI INT16 */
        a &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));
        d &= ~(BIT(4) | BIT(5) | BIT(10) | BIT(19));
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer_cpuid;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, NULL);
    if (allow_cpuid(0)) {
        perror("CPUID can't be made to fault here");
        _exit(77);
    }
}
