// The header is one of C++ too.
#include "durward.h"

#include <cstdio>

int main() {
    return std::puts(durward_version()) < 0;
}
